//! Installed servers as the registry knows them.

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_domain::policy::network::{OPENINGS, Openings};
use cynode_ops::tools::{McpServer, Registry, ServerTransport};
use cynode_wire::servers::Transport;
use tracing::warn;

use crate::backend::observed;
use crate::outbound::openings;
use crate::upstream::{Directory, InstalledServer, Reach, SeenTool};

/// The registry, as those who speak with installed servers need it.
#[derive(Clone)]
pub struct RegistryDirectory {
    registry: Registry,
}

impl RegistryDirectory {
    /// The servers of `registry`.
    pub fn new(registry: Registry) -> Self {
        Self { registry }
    }
}

#[async_trait]
impl Directory for RegistryDirectory {
    async fn servers(&self) -> Result<Vec<InstalledServer>, String> {
        let state = self.registry.load().await.map_err(|fault| fault.to_string())?;
        let opened = openings(state.settings.get(OPENINGS));
        let enabled = state.servers.into_iter().filter(|server| server.enabled);
        Ok(enabled.map(|server| installed(server, &opened)).collect())
    }

    async fn server(&self, id: ServerId) -> Result<Option<InstalledServer>, String> {
        Ok(self.servers().await?.into_iter().find(|server| server.id == id))
    }

    async fn observe(&self, server: ServerId, tools: Vec<SeenTool>) {
        let tools = tools.into_iter().map(observed).collect();
        if let Err(fault) = self.registry.observe(server, tools).await {
            let error = &fault as &dyn std::error::Error;
            warn!(error, server.id = %server, "the tools of server {server} could not be written down");
        }
    }

    async fn report(&self, server: ServerId, fault: Option<String>) {
        if let Err(fault) = self.registry.server_state(server, fault).await {
            let error = &fault as &dyn std::error::Error;
            warn!(error, server.id = %server, "the state of server {server} could not be written down");
        }
    }
}

fn installed(server: McpServer, opened: &Openings) -> InstalledServer {
    let mut reach = Reach::Public(opened.clone());
    let transport = match server.transport {
        ServerTransport::Stdio { command, args, env, allow_network } => {
            Transport::Stdio { command, args, env, allow_network }
        }
        ServerTransport::Http { url, headers, may_be_internal } => {
            if may_be_internal {
                reach = Reach::Anywhere;
            }
            Transport::Http { url, headers }
        }
    };
    InstalledServer { id: server.id, slug: server.slug, transport, reach }
}
