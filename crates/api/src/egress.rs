//! Calls to models: providers, credentials, the record, and the way out for agents.

mod calls;
mod completions;
mod credentials;
mod decisions;
mod error;
mod providers;

use cynode_ops::agents::AgentTokens;
use cynode_ops::credentials::Credentials;
use cynode_ops::decisions::Decisions;
use cynode_ops::egress::Egress;
use utoipa_axum::router::OpenApiRouter;

/// What calls to models go through, for people to look at and to change.
#[derive(Clone)]
pub struct Models {
    /// The way out to models.
    pub egress: Egress,
    /// Credentials for providers.
    pub credentials: Credentials,
    /// What the project manager decided.
    pub decisions: Decisions,
}

/// Routes for people.
pub(crate) fn routes(models: Models) -> OpenApiRouter {
    providers::routes(models.egress.clone())
        .merge(calls::routes(models.egress))
        .merge(credentials::routes(models.credentials))
        .merge(decisions::routes(models.decisions))
}

/// The route for agents, which present their own tokens.
pub(crate) fn agent_routes(egress: Egress, agents: AgentTokens) -> OpenApiRouter {
    completions::routes(egress, agents)
}
