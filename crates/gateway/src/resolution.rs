//! Which server and tool a name means to a caller.
//!
//! Names of servers are unique for each owner and among the servers of the system. A name means, in this order: the
//! server of the system, so that no user can replace it for callers; the server of the caller's user; the
//! only server of another user of which the caller may use anything. If there are several, it means none.
//!
//! Invariant: the tools of one name are those of one server. A tool that the preferred server lacks is not looked for on
//! another one.

use std::sync::Arc;

use crate::identity::Identity;
use crate::pipeline;
use crate::snapshot::PolicyServer;
use crate::snapshot::PolicySnapshot;
use crate::snapshot::PolicyTool;

/// The server that `slug` means to the caller. If the caller may use none of this name, the oldest, for the record of the
/// denied call.
pub fn resolve_server<'s>(
    snapshot: &'s PolicySnapshot,
    identity: &Identity,
    slug: &str,
) -> Option<&'s Arc<PolicyServer>> {
    let named = snapshot.servers_named(slug);
    let preferred = named
        .iter()
        .find(|server| server.is_system)
        .or_else(|| named.iter().find(|server| server.owner == identity.user));
    if preferred.is_some() || named.len() == 1 {
        return preferred.or(named.first());
    }
    let mut known =
        named.iter().filter(|server| pipeline::is_server_known(snapshot, identity, server));
    match (known.next(), known.next()) {
        // A choice between them could change with a server that its owner renames.
        (Some(_), Some(_)) => None,
        (Some(only), None) => Some(only),
        (None, _) => named.first(),
    }
}

/// The tool that a canonical name means to the caller.
pub fn resolve_tool<'s>(
    snapshot: &'s PolicySnapshot,
    identity: &Identity,
    name: &str,
) -> Option<&'s Arc<PolicyTool>> {
    snapshot.builtin(name).or_else(|| {
        let (slug, _) = name.split_once('.')?;
        let server = resolve_server(snapshot, identity, slug)?;
        snapshot.tool_of(server.id, name)
    })
}

/// Whether the name of a tool means this tool to the caller.
pub(crate) fn is_named(snapshot: &PolicySnapshot, identity: &Identity, tool: &PolicyTool) -> bool {
    match &tool.server {
        None => true,
        Some(own) => {
            resolve_server(snapshot, identity, &own.slug).is_some_and(|server| server.id == own.id)
        }
    }
}

#[cfg(test)]
mod tests;
