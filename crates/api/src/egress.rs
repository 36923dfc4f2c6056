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
use utoipa_axum::router::OpenApiRouter;

pub(crate) use self::agent_calls::AgentEgressState;
use crate::state::ApiState;

/// Services behind the model routes and the list of decisions.
#[derive(Clone)]
pub struct ModelServices {
    pub egress: Egress,
    pub credentials: CredentialManager,
    pub decisions: DecisionRecords,
}

/// Routes for users.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    providers::routes().merge(calls::routes()).merge(credentials::routes())
}

/// The routes for agents, which authenticate with agent tokens.
pub(crate) fn agent_routes() -> OpenApiRouter<ApiState> {
    completions::routes().merge(messages::routes())
}
