//! Names of servers. A name is unique for each owner and among the servers of the system, so it is resolved for its
//! caller: a server of the system first, so that no user can replace it for callers; then the caller's own.

use cynode_domain::ids::ServerId;
use cynode_domain::name::lookup_name;
use cynode_domain::name_or_id::NameOrId;
use cynode_store::{McpServer, Tx};

use crate::Caller;
use crate::tools::ToolError;

/// Several servers of other users have the name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AmbiguousName;

/// The server that `slug` means to the caller; `servers` are those that the caller may see.
pub fn resolve_name(
    caller: &Caller,
    servers: impl IntoIterator<Item = McpServer>,
    slug: &str,
) -> Result<Option<McpServer>, AmbiguousName> {
    let named: Vec<_> = servers.into_iter().filter(|server| server.slug == slug).collect();
    let preferred = named
        .iter()
        .find(|server| server.is_system)
        .or_else(|| named.iter().find(|server| server.owner == caller.user));
    match (preferred, named.as_slice()) {
        (Some(server), _) | (None, [server]) => Ok(Some(server.clone())),
        (None, []) => Ok(None),
        (None, _) => Err(AmbiguousName),
    }
}

/// Whether the caller may change the server: its owner and administrators; of the system, administrators.
pub(super) fn may_manage(caller: &Caller, server: &McpServer) -> bool {
    caller.is_admin || (!server.is_system && server.owner == caller.user)
}

/// Loads a server that the caller may change.
pub(super) async fn find_server(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &NameOrId<ServerId>,
) -> Result<McpServer, ToolError> {
    let found = match name_or_id {
        NameOrId::Id(id) => tx.server_get(*id).await?.filter(|server| may_manage(caller, server)),
        NameOrId::Name(name) => {
            let managed = tx.server_list().await?.into_iter();
            let managed = managed.filter(|server| may_manage(caller, server));
            resolve_name(caller, managed, &lookup_name(name))
                .map_err(|_| ToolError::AmbiguousServer(name_or_id.excerpt()))?
        }
    };
    found.ok_or_else(|| ToolError::NoServer(name_or_id.excerpt()))
}

/// Fails if a server of the system has the name: calls by that name would not reach a server of a user.
pub(super) async fn check_not_of_system(tx: &mut Tx, slug: &str) -> Result<(), ToolError> {
    if tx.server_list().await?.iter().any(|server| server.is_system && server.slug == slug) {
        return Err(ToolError::SystemName(slug.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use cynode_domain::ids::UserId;
    use cynode_domain::policy::ToolScope;
    use cynode_store::{ServerSecrets, ServerTransport};

    use super::*;

    fn server(owner: UserId, is_system: bool) -> McpServer {
        let transport = ServerTransport::Http {
            url: "https://example.org".to_owned(),
            headers: ServerSecrets::Plain([].into()),
            may_be_internal: false,
        };
        McpServer {
            id: ServerId::generate(),
            slug: "github".to_owned(),
            owner,
            is_system,
            transport,
            scope: ToolScope::Both,
            enabled: true,
            last_error: None,
            listed_at: None,
            created_at: DateTime::UNIX_EPOCH,
            updated_at: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_name_means_the_system_s_server_then_the_caller_s_own_then_the_only_other_one() {
        let ada = Caller::on_behalf_of(UserId::generate(), "ada".to_owned(), true);
        let (own, system) = (server(ada.user, false), server(UserId::generate(), true));
        let others = [server(UserId::generate(), false), server(UserId::generate(), false)];
        let resolve = |servers: &[&McpServer]| {
            let servers = servers.iter().map(|server| (*server).clone());
            resolve_name(&ada, servers, "github").map(|found| found.map(|server| server.id))
        };

        assert_eq!(resolve(&[&others[0], &own, &system]), Ok(Some(system.id)));
        assert_eq!(resolve(&[&others[0], &own]), Ok(Some(own.id)));
        assert_eq!(resolve(&[&others[1]]), Ok(Some(others[1].id)));
        assert_eq!(resolve(&[&others[0], &others[1]]), Err(AmbiguousName));
        assert_eq!(resolve(&[]), Ok(None));
    }
}
