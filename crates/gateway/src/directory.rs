//! The registry's implementation of the upstream directory.

use std::sync::Arc;

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_domain::policy::network::{ALLOWED_NETWORKS_SETTING, AllowedNetworks};
use cynode_resources::servers::{SecretSealer, open_transport};
use cynode_resources::{tools::McpServer, tools::ServerTransport, tools::ToolRegistry};
use cynode_wire::servers::Transport;
use tracing::warn;

use crate::backend::to_observed_tool;
use cynode_network::parse_openings;
use cynode_upstream::InstalledServer;
use cynode_upstream::ListedTool;
use cynode_upstream::NetworkReach;
use cynode_upstream::ServerDirectory;

/// Installed servers, loaded from the registry.
#[derive(Clone)]
pub struct RegistryDirectory {
    registry: ToolRegistry,
    sealer: Arc<dyn SecretSealer>,
}

impl RegistryDirectory {
    pub fn new(registry: ToolRegistry, sealer: Arc<dyn SecretSealer>) -> Self {
        Self { registry, sealer }
    }

    /// The server with its secrets; `None` if they cannot be decrypted, which its owner sees as its error.
    async fn open(&self, server: McpServer, opened: &AllowedNetworks) -> Option<InstalledServer> {
        match open_transport(&server, self.sealer.as_ref()) {
            Ok(transport) => Some(installed(server, transport, opened)),
            Err(error) => {
                warn!(server.slug = %server.slug, %error, "secrets of a server cannot be decrypted");
                self.record_health(server.id, Some(error.to_string())).await;
                None
            }
        }
    }
}

#[async_trait]
impl ServerDirectory for RegistryDirectory {
    async fn servers(&self) -> Result<Vec<InstalledServer>, String> {
        let state = self.registry.load().await.map_err(|fault| fault.to_string())?;
        let opened = parse_openings(state.settings.get(ALLOWED_NETWORKS_SETTING));
        let mut servers = vec![];
        for server in state.servers.into_iter().filter(|server| server.enabled) {
            servers.extend(self.open(server, &opened).await);
        }
        Ok(servers)
    }

    async fn server(&self, id: ServerId) -> Result<Option<InstalledServer>, String> {
        Ok(self.servers().await?.into_iter().find(|server| server.id == id))
    }

    async fn record_tools(&self, server: ServerId, tools: Vec<ListedTool>) {
        let tools = tools.into_iter().map(to_observed_tool).collect();
        if let Err(fault) = self.registry.observe_server_tools(server, tools).await {
            let error = &fault as &dyn std::error::Error;
            warn!(error, server.id = %server, "storing server tools failed");
        }
    }

    async fn record_health(&self, server: ServerId, fault: Option<String>) {
        if let Err(fault) = self.registry.set_server_error(server, fault).await {
            let error = &fault as &dyn std::error::Error;
            warn!(error, server.id = %server, "storing server health failed");
        }
    }
}

fn installed(server: McpServer, transport: Transport, opened: &AllowedNetworks) -> InstalledServer {
    let reach = match server.transport {
        ServerTransport::Http { may_be_internal: true, .. } => NetworkReach::Anywhere,
        ServerTransport::Http { .. } | ServerTransport::Stdio { .. } => {
            NetworkReach::Public(opened.clone())
        }
    };
    InstalledServer { id: server.id, slug: server.slug, transport, reach }
}
