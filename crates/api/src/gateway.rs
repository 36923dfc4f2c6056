//! Administration of the MCP gateway: tokens, servers, tools, rules, settings and the audit log.

mod agents;
mod audit;
mod leases;
mod rules;
mod servers;
mod settings;
mod tools;

use cynode_ops::access::Access;
use cynode_ops::capability_leases::CapabilityLeases;
use cynode_resources::agents::AgentTokens;
use cynode_resources::audit::AuditLog;
use cynode_resources::rules::AccessRules;
use cynode_resources::servers::InstalledServers;
use cynode_resources::settings::InstallationSettings;
use cynode_resources::tools::ToolRegistry;
use utoipa_axum::router::OpenApiRouter;

use crate::state::ApiState;

/// Services behind the gateway's administration routes.
#[derive(Clone)]
pub struct GatewayAdministration {
    pub agents: AgentTokens,
    pub registry: ToolRegistry,
    pub servers: InstalledServers,
    pub rules: AccessRules,
    pub settings: InstallationSettings,
    pub audit: AuditLog,
    pub leases: CapabilityLeases,
    /// Explains access decisions.
    pub access: Access,
}

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    agents::routes()
        .merge(tools::routes())
        .merge(tools::access_routes())
        .merge(servers::routes())
        .merge(rules::routes())
        .merge(settings::routes())
        .merge(audit::routes())
        .merge(leases::routes())
}
