//! Administration of the MCP gateway: tokens, servers, tools, rules, settings, and the record.

mod agents;
mod audit;
mod error;
mod rules;
mod servers;
mod settings;
mod tools;

use cynode_ops::access::Access;
use cynode_ops::agents::AgentTokens;
use cynode_ops::audit::AuditLog;
use cynode_ops::rules::Rules;
use cynode_ops::servers::Servers;
use cynode_ops::settings::Settings;
use cynode_ops::tools::Registry;
use utoipa_axum::router::OpenApiRouter;

/// What the gateway decides and records by, for people to look at and to change.
#[derive(Clone)]
pub struct Administration {
    /// Tokens of agents.
    pub agents: AgentTokens,
    /// Tools.
    pub registry: Registry,
    /// Installed servers.
    pub servers: Servers,
    /// Access rules.
    pub rules: Rules,
    /// Settings.
    pub settings: Settings,
    /// The record of calls.
    pub audit: AuditLog,
    /// Whether somebody could call a tool, and why.
    pub access: Access,
}

pub(crate) fn routes(administration: Administration) -> OpenApiRouter {
    agents::routes(administration.agents)
        .merge(tools::routes(administration.registry))
        .merge(tools::access_routes(administration.access))
        .merge(servers::routes(administration.servers))
        .merge(rules::routes(administration.rules))
        .merge(settings::routes(administration.settings))
        .merge(audit::routes(administration.audit))
}
