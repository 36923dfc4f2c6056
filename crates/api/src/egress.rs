//! Model egress: providers, credentials, recorded calls, and the model APIs of agents: OpenAI's chat completions
//! and Anthropic's messages.

mod agent_calls;
mod calls;
mod completions;
mod credentials;
mod messages;
mod providers;

use cynode_models::credentials::CredentialManager;
use cynode_models::decisions::DecisionRecords;
use cynode_models::egress::Egress;
use cynode_resources::agents::AgentTokens;
use cynode_resources::request_limits::RequestLimits;
use utoipa_axum::router::OpenApiRouter;

/// Services behind the model routes and the list of decisions.
#[derive(Clone)]
pub struct ModelServices {
    pub egress: Egress,
    pub credentials: CredentialManager,
    pub decisions: DecisionRecords,
}

/// Routes for users.
pub(crate) fn routes(models: ModelServices) -> OpenApiRouter {
    providers::routes(models.egress.clone())
        .merge(calls::routes(models.egress))
        .merge(credentials::routes(models.credentials))
}

/// The routes for agents, which authenticate with agent tokens.
pub(crate) fn agent_routes(
    egress: Egress,
    agents: AgentTokens,
    limits: RequestLimits,
) -> OpenApiRouter {
    let state = agent_calls::AgentEgressState { egress, agents, limits };
    completions::routes(state.clone()).merge(messages::routes(state))
}
