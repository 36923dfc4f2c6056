//! MCP servers that users install.

mod naming;
mod sealing;
mod validate;

use std::collections::HashSet;
use std::sync::Arc;

use cynode_domain::ids::{RuleId, ServerId};
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::policy::pattern::{Pattern, PatternError};
use cynode_domain::policy::rules::{AccessRule, Conditions, INVOKE, RuleSubject, TOOL};
use cynode_domain::policy::{Effect, ToolScope};
use cynode_runtime::clock::SharedClock;
use cynode_store::{AccessChange, McpServer, ServerTransport, Store, StoredRule, Tx};
use cynode_wire::servers::{InstallServer, ServerView, TransportView, UpdateServer};

use crate::signals::Topic;
use crate::tools::ToolError;
use crate::{Caller, Signals};

use self::naming::{check_not_of_system, find_server, may_manage};

pub use naming::{AmbiguousName, resolve_name};
pub use sealing::{SealedText, SealingError, SecretSealer, open_transport, reseal};

/// More than people install; each may be a process.
const MAX_SERVERS_OF_USER: usize = 64;

/// Installed servers. Cheap to clone.
#[derive(Clone)]
pub struct InstalledServers {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    sealer: Arc<dyn SecretSealer>,
}

impl InstalledServers {
    pub fn new(
        store: Store,
        clock: SharedClock,
        signals: Signals,
        sealer: Arc<dyn SecretSealer>,
    ) -> Self {
        Self { store, clock, signals, sealer }
    }

    /// Installs a server for the caller, or for the system. The caller and agents acting for the caller can call its
    /// tools; other users need an access rule of an administrator. Every caller can call those of the system.
    pub async fn install(
        &self,
        caller: &Caller,
        request: InstallServer,
    ) -> Result<ServerView, ToolError> {
        let transport = validate::validate_install(caller, &request)?;
        if request.system && !caller.is_admin {
            return Err(ToolError::NotAdmin);
        }
        let now = self.clock.now();
        let mut server = McpServer {
            id: ServerId::generate(),
            slug: request.slug,
            owner: caller.user,
            is_system: request.system,
            transport,
            scope: request.scope.unwrap_or(ToolScope::Both),
            enabled: true,
            last_error: None,
            listed_at: None,
            created_at: now,
            updated_at: now,
        };
        sealing::seal_secrets(&mut server, self.sealer.as_ref()).await?;
        let slug = server.slug.clone();
        let added = self
            .change_server(
                "server.install",
                move |tx| {
                    Box::pin(async move {
                        let servers = tx.server_list().await?.into_iter();
                        let own = servers.filter(|other| other.owner == server.owner).count();
                        if own >= MAX_SERVERS_OF_USER {
                            return Err(ToolError::TooManyServers);
                        }
                        if !server.is_system {
                            check_not_of_system(tx, &server.slug).await?;
                        }
                        tx.server_insert(&server).await?;
                        tx.rule_insert(&initial_rule(&server)?).await?;
                        Ok(server)
                    })
                },
                caller,
            )
            .await;
        match added {
            Err(ToolError::Store(error)) if error.is_duplicate() => Err(ToolError::Taken(slug)),
            added => added,
        }
    }

    /// Lists the caller's servers, or all for administrators, by name.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<ServerView>, ToolError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let mut servers = tx.server_list().await?;
                    servers.retain(|server| may_manage(&caller, server));
                    render_servers(tx, servers).await
                })
            })
            .await
    }

    /// Returns a server by name or id.
    pub async fn get(
        &self,
        caller: &Caller,
        server: &NameOrId<ServerId>,
    ) -> Result<ServerView, ToolError> {
        let (caller, server) = (caller.clone(), server.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let found = find_server(tx, &caller, &server).await?;
                    render_server(tx, found).await
                })
            })
            .await
    }

    /// Changes the name or transport of a server, or enables or disables it. For its owner or an administrator.
    pub async fn update(
        &self,
        caller: &Caller,
        server: &NameOrId<ServerId>,
        request: UpdateServer,
    ) -> Result<ServerView, ToolError> {
        if let Some(slug) = &request.slug {
            validate::validate_slug(slug)?;
        }
        let transport = request.transport.as_ref();
        let transport = transport
            .map(|transport| validate::validate_transport(caller, transport))
            .transpose()?;
        let transport = match transport {
            Some(transport) => Some(self.sealed_transport(caller, server, transport).await?),
            None => None,
        };
        let (asking, server, now) = (caller.clone(), server.to_owned(), self.clock.now());
        let slug = request.slug.clone();
        let changed = self
            .change_server(
                "server.update",
                move |tx| {
                    Box::pin(async move {
                        let mut found = find_server(tx, &asking, &server).await?;
                        if let Some(slug) = request.slug.filter(|slug| *slug != found.slug) {
                            if !found.is_system {
                                check_not_of_system(tx, &slug).await?;
                            }
                            tx.server_rename(&found, &slug).await?;
                            keep_denials(tx, &found, &slug).await?;
                            found.slug = slug;
                        }
                        found.transport = transport.unwrap_or(found.transport);
                        found.enabled = request.enabled.unwrap_or(found.enabled);
                        found.updated_at = now;
                        tx.server_update(&found).await?;
                        Ok(found)
                    })
                },
                caller,
            )
            .await;
        match (changed, slug) {
            (Err(ToolError::Store(error)), Some(slug)) if error.is_duplicate() => {
                Err(ToolError::Taken(slug))
            }
            (changed, _) => changed,
        }
    }

    /// Seals the secrets of a new transport for a server.
    async fn sealed_transport(
        &self,
        caller: &Caller,
        server: &NameOrId<ServerId>,
        transport: ServerTransport,
    ) -> Result<ServerTransport, ToolError> {
        let (asking, server) = (caller.clone(), server.to_owned());
        let found = self
            .store
            .read(move |tx| Box::pin(async move { find_server(tx, &asking, &server).await }))
            .await?;
        let mut changed = McpServer { transport, ..found };
        sealing::seal_secrets(&mut changed, self.sealer.as_ref()).await?;
        Ok(changed.transport)
    }

    /// Deletes a server, its tools and every rule about them. For its owner or an administrator.
    pub async fn remove(
        &self,
        caller: &Caller,
        server: &NameOrId<ServerId>,
    ) -> Result<(), ToolError> {
        let (asking, server) = (caller.clone(), server.to_owned());
        self.change_server(
            "server.remove",
            move |tx| {
                Box::pin(async move {
                    let found = find_server(tx, &asking, &server).await?;
                    tx.tool_delete_by_server(found.id).await?;
                    tx.server_delete(found.id).await?;
                    let others = tx.server_list().await?;
                    let is_last = others.iter().all(|other| other.slug != found.slug);
                    // A later server of the same name must not inherit these permissions.
                    let prefix = format!("{}.", found.slug);
                    for AccessRule { id, server, resource, resource_type, effect, .. } in
                        tx.rule_list().await?.into_iter().map(|stored| stored.rule)
                    {
                        let is_of_name = server.is_none()
                            && effect == Effect::Allow
                            && resource_type.as_str() == TOOL
                            && resource.as_str().starts_with(&prefix);
                        if server == Some(found.id) || (is_last && is_of_name) {
                            tx.rule_delete(id).await?;
                        }
                    }
                    Ok(found)
                })
            },
            caller,
        )
        .await
        .map(drop)
    }

    async fn change_server(
        &self,
        action: &'static str,
        body: impl for<'a> FnOnce(
            &'a mut Tx,
        )
            -> futures_util::future::BoxFuture<'a, Result<McpServer, ToolError>>
        + Send
        + 'static,
        caller: &Caller,
    ) -> Result<ServerView, ToolError> {
        let (by, at) = (Some(caller.user), self.clock.now());
        let changed = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    tx.policy_lock().await?;
                    let server = body(tx).await?;
                    tx.policy_bump_revision().await?;
                    let change = AccessChange {
                        by,
                        action,
                        resource_type: "mcp.server",
                        resource: server.slug.clone(),
                        allowed: true,
                        reason: Some(format!("server {}", server.id)),
                        task: None,
                        at,
                    };
                    tx.access_change_append(&change).await?;
                    render_server(tx, server).await
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(changed)
    }
}

/// Copies deny rules about the name of a server to its new name, for this server: a renamed server stays denied.
async fn keep_denials(tx: &mut Tx, server: &McpServer, slug: &str) -> Result<(), ToolError> {
    let prefix = format!("{}.", server.slug);
    let rules = tx.rule_list().await?;
    for stored in &rules {
        let AccessRule { server: bound, effect, resource, resource_type, .. } = &stored.rule;
        let rest = resource.as_str().strip_prefix(&prefix);
        let (None, Effect::Deny, TOOL, Some(rest)) = (bound, effect, resource_type.as_str(), rest)
        else {
            continue;
        };
        let resource = parse_pattern(&format!("{slug}.{rest}"))?;
        let copy = AccessRule {
            id: RuleId::generate(),
            server: Some(server.id),
            resource,
            ..stored.rule.clone()
        };
        // An earlier rename to this name, and back, left its copy.
        let is_copy = |known: &StoredRule| AccessRule { id: copy.id, ..known.rule.clone() } == copy;
        if !rules.iter().any(is_copy) {
            tx.rule_insert(&StoredRule { rule: copy, ..stored.clone() }).await?;
        }
    }
    Ok(())
}

fn parse_pattern(text: &str) -> Result<Pattern, ToolError> {
    text.parse().map_err(|error: PatternError| ToolError::Invalid(vec![error.to_string()]))
}

/// The rule that installing a server adds: its owner and the owner's agents may call its tools; of the system, every
/// caller.
fn initial_rule(server: &McpServer) -> Result<StoredRule, ToolError> {
    Ok(StoredRule {
        rule: AccessRule {
            id: RuleId::generate(),
            subject: if server.is_system {
                RuleSubject::System
            } else {
                RuleSubject::User(server.owner)
            },
            action: parse_pattern(INVOKE)?,
            resource_type: parse_pattern(TOOL)?,
            resource: parse_pattern(&format!("{}.*", server.slug))?,
            server: Some(server.id),
            effect: Effect::Allow,
            priority: 0,
            conditions: Conditions::default(),
        },
        updated_by: Some(server.owner),
        created_at: server.created_at,
        updated_at: server.created_at,
    })
}

async fn render_server(tx: &mut Tx, server: McpServer) -> Result<ServerView, ToolError> {
    let id = server.id;
    let rendered = render_servers(tx, vec![server]).await?;
    rendered.into_iter().next().ok_or_else(|| ToolError::NoServer(id.to_string()))
}

/// Renders servers with the handles of their owners.
async fn render_servers(
    tx: &mut Tx,
    servers: Vec<McpServer>,
) -> Result<Vec<ServerView>, ToolError> {
    let owners: Vec<_> = servers.iter().map(|server| server.owner).collect();
    let handles = tx.user_handles(&owners).await?;
    let of_system = tx.server_list().await?.into_iter().filter(|server| server.is_system);
    let system_names: HashSet<_> = of_system.map(|server| server.slug).collect();
    let render = |server: McpServer| {
        let owner = handles.get(&server.owner).cloned().unwrap_or_default();
        let is_hidden = !server.is_system && system_names.contains(&server.slug);
        server_view(server, owner, is_hidden)
    };
    Ok(servers.into_iter().map(render).collect())
}

fn server_view(server: McpServer, owner_handle: String, is_hidden: bool) -> ServerView {
    let transport = match server.transport {
        ServerTransport::Stdio { command, args, env, allow_network, allowed_hosts } => {
            let env_names = sealing::secret_names(&env);
            TransportView::Stdio { command, args, env_names, allow_network, allowed_hosts }
        }
        // The query of a row that is not sealed yet may contain a key.
        ServerTransport::Http { url, headers, .. } => TransportView::Http {
            url: url.split('?').next().unwrap_or_default().to_owned(),
            header_names: sealing::secret_names(&headers),
        },
    };
    ServerView {
        id: server.id,
        slug: server.slug,
        owner_id: server.owner,
        owner_handle,
        system: server.is_system,
        hidden_by_system: is_hidden,
        transport,
        scope: server.scope,
        enabled: server.enabled,
        last_error: server.last_error,
        created_at: server.created_at,
        updated_at: server.updated_at,
    }
}
