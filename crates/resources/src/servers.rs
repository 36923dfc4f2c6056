//! MCP servers that users install.

mod sealing;
mod validate;

use std::sync::Arc;

use cynode_domain::ids::{RuleId, ServerId};
use cynode_domain::name::lookup_name;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::policy::rules::{AccessRule, Conditions, INVOKE, RuleSubject, TOOL};
use cynode_domain::policy::{Effect, ToolScope};
use cynode_runtime::clock::SharedClock;
use cynode_store::{AccessChange, McpServer, ServerTransport, Store, StoredRule, Tx};
use cynode_wire::servers::{InstallServer, ServerView, TransportView, UpdateServer};

use crate::signals::Topic;
use crate::tools::ToolError;
use crate::{Caller, Signals};

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

    /// Installs a server for the caller. The caller and agents acting for the caller can call its tools;
    /// other users need an access rule of an administrator.
    pub async fn install(
        &self,
        caller: &Caller,
        request: InstallServer,
    ) -> Result<ServerView, ToolError> {
        let transport = validate::validate_install(caller, &request)?;
        let now = self.clock.now();
        let mut server = McpServer {
            id: ServerId::generate(),
            slug: request.slug,
            owner: caller.user,
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
                        tx.server_insert(&server).await?;
                        tx.rule_insert(&owner_rule(&server)?).await?;
                        Ok(server)
                    })
                },
                caller,
            )
            .await;
        match added {
            Err(ToolError::Store(error)) if error.is_duplicate() => Err(ToolError::Taken(slug)),
            added => Ok(server_view(added?)),
        }
    }

    /// Lists the caller's servers, or all for administrators, by name.
    pub async fn list(&self, caller: &Caller) -> Result<Vec<ServerView>, ToolError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let servers = tx.server_list().await?.into_iter();
                    let seen = servers.filter(|server| caller.may_see(server.owner));
                    Ok::<_, ToolError>(seen.map(server_view).collect())
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
                Box::pin(async move { Ok(server_view(find_server(tx, &caller, &server).await?)) })
            })
            .await
    }

    /// Changes the transport of a server, or enables or disables it. For its owner or an administrator.
    pub async fn update(
        &self,
        caller: &Caller,
        server: &NameOrId<ServerId>,
        request: UpdateServer,
    ) -> Result<ServerView, ToolError> {
        let transport = request.transport.as_ref();
        let transport = transport
            .map(|transport| validate::validate_transport(caller, transport))
            .transpose()?;
        let transport = match transport {
            Some(transport) => Some(self.sealed_transport(caller, server, transport).await?),
            None => None,
        };
        let (asking, server, now) = (caller.clone(), server.to_owned(), self.clock.now());
        let changed = self
            .change_server(
                "server.update",
                move |tx| {
                    Box::pin(async move {
                        let mut found = find_server(tx, &asking, &server).await?;
                        found.transport = transport.unwrap_or(found.transport);
                        found.enabled = request.enabled.unwrap_or(found.enabled);
                        found.updated_at = now;
                        tx.server_update(&found).await?;
                        Ok(found)
                    })
                },
                caller,
            )
            .await?;
        Ok(server_view(changed))
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
                    // A later server of the same name must not inherit these permissions.
                    let prefix = format!("{}.", found.slug);
                    for stored in tx.rule_list().await? {
                        if stored.rule.resource.as_str().starts_with(&prefix) {
                            tx.rule_delete(stored.rule.id).await?;
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
    ) -> Result<McpServer, ToolError> {
        let (by, at) = (Some(caller.user), self.clock.now());
        let changed = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let server = body(tx).await?;
                    tx.policy_bump_revision().await?;
                    let change = AccessChange {
                        by,
                        action,
                        resource_type: "mcp.server",
                        resource: server.slug.clone(),
                        allowed: true,
                        reason: None,
                        task: None,
                        at,
                    };
                    tx.access_change_append(&change).await?;
                    Ok::<_, ToolError>(server)
                })
            })
            .await?;
        self.signals.send(Topic::Policy);
        Ok(changed)
    }
}

/// The rule that installing a server adds: its owner and the owner's agents may call its tools.
fn owner_rule(server: &McpServer) -> Result<StoredRule, ToolError> {
    let pattern = |text: &str| {
        text.parse().map_err(|error: cynode_domain::policy::pattern::PatternError| {
            ToolError::Invalid(vec![error.to_string()])
        })
    };
    Ok(StoredRule {
        rule: AccessRule {
            id: RuleId::generate(),
            subject: RuleSubject::User(server.owner),
            action: pattern(INVOKE)?,
            resource_type: pattern(TOOL)?,
            resource: pattern(&format!("{}.*", server.slug))?,
            effect: Effect::Allow,
            priority: 0,
            conditions: Conditions::default(),
        },
        updated_by: Some(server.owner),
        created_at: server.created_at,
        updated_at: server.created_at,
    })
}

async fn find_server(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &NameOrId<ServerId>,
) -> Result<McpServer, ToolError> {
    let found = match name_or_id {
        NameOrId::Id(id) => tx.server_get(*id).await?,
        NameOrId::Name(name) => tx.server_by_slug(&lookup_name(name)).await?,
    };
    found
        .filter(|server| caller.may_see(server.owner))
        .ok_or_else(|| ToolError::NoServer(name_or_id.excerpt()))
}

fn server_view(server: McpServer) -> ServerView {
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
        transport,
        scope: server.scope,
        enabled: server.enabled,
        last_error: server.last_error,
        created_at: server.created_at,
        updated_at: server.updated_at,
    }
}
