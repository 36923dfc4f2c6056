//! Which server and tool a name means to a caller.
//!
//! Names of servers are unique for each owner and among the servers of the system. A name means, in this order: the
//! server of the system, so that no user can replace it for callers; the server of the caller's user; the
//! oldest server of another user of which the caller may use anything.
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
    named
        .iter()
        .find(|server| server.is_system)
        .or_else(|| named.iter().find(|server| server.owner == identity.user))
        .or_else(|| match named {
            [_] => None,
            _ => named.iter().find(|server| pipeline::is_server_known(snapshot, identity, server)),
        })
        .or_else(|| named.first())
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
