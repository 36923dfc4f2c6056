//! The registry's implementation of the upstream directory.

use async_trait::async_trait;
use cynode_domain::ids::ServerId;
use cynode_domain::policy::network::{ALLOWED_NETWORKS_SETTING, AllowedNetworks};
use cynode_resources::{tools::McpServer, tools::ServerTransport, tools::ToolRegistry};
use cynode_wire::servers::Transport;
use tracing::warn;

use crate::backend::to_observed_tool;
use cynode_upstream::InstalledServer;
use cynode_upstream::ListedTool;
use cynode_upstream::NetworkReach;
use cynode_upstream::ServerDirectory;
use cynode_upstream::outbound::parse_openings;

/// Installed servers, loaded from the registry.
#[derive(Clone)]
pub struct RegistryDirectory {
    registry: ToolRegistry,
}

impl RegistryDirectory {
    pub fn new(registry: ToolRegistry) -> Self {
        Self { registry }
    }
}

#[async_trait]
impl ServerDirectory for RegistryDirectory {
    async fn servers(&self) -> Result<Vec<InstalledServer>, String> {
        let state = self.registry.load().await.map_err(|fault| fault.to_string())?;
        let opened = parse_openings(state.settings.get(ALLOWED_NETWORKS_SETTING));
        let enabled = state.servers.into_iter().filter(|server| server.enabled);
        Ok(enabled.map(|server| installed(server, &opened)).collect())
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

fn installed(server: McpServer, opened: &AllowedNetworks) -> InstalledServer {
    let mut reach = NetworkReach::Public(opened.clone());
    let transport = match server.transport {
        ServerTransport::Stdio { command, args, env, allow_network } => {
            Transport::Stdio { command, args, env, allow_network }
        }
        ServerTransport::Http { url, headers, may_be_internal } => {
            if may_be_internal {
                reach = NetworkReach::Anywhere;
            }
            Transport::Http { url, headers }
        }
    };
    InstalledServer { id: server.id, slug: server.slug, transport, reach }
}
