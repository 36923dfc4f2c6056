//! The way out to models for agents: OpenAI's chat completions, with an agent's token.

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use cynode_domain::ids::TraceId;
use cynode_domain::policy::Principal;
use cynode_ops::agents::{AgentIdentity, AgentTokens};
use cynode_ops::egress::{Egress, Inference};
use cynode_ops::secrets::CleanRequest;
use cynode_wire::openai::{ChatCompletion, ChatRequest};
use http::HeaderMap;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::chat::stream_of;
use crate::identity::bearer;
use crate::openai_error::OpenAiError;
use crate::unreadable;

/// What the agents' way out works with.
#[derive(Clone)]
struct Way {
    egress: Egress,
    agents: AgentTokens,
}

pub(crate) fn routes(egress: Egress, agents: AgentTokens) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(complete)).with_state(Way { egress, agents })
}

/// Asks a model, for agents only. `metadata.purpose` and `metadata.prompt_hash` go on record.
#[utoipa::path(post, path = "/v1/egress/chat/completions", tag = "models",
    request_body = ChatRequest,
    responses((status = 200, body = ChatCompletion),
        (status = "4XX", body = cynode_wire::openai::ErrorBody)))]
async fn complete(
    State(way): State<Way>,
    Extension(trace): Extension<TraceId>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, OpenAiError> {
    let identity = agent(&way.agents, &headers).await?;
    let request = CleanRequest::from(unreadable::read::<ChatRequest>(&body?)?);
    let noted = |key: &str| request.metadata.as_ref()?.get(key)?.as_str().map(ToOwned::to_owned);
    let purpose = noted("purpose").unwrap_or_else(|| "agent".to_owned());
    let mut inference = Inference::of_agent(&identity, &purpose, &trace.to_string());
    inference.prompt_hash = noted("prompt_hash");
    let inference = way.egress.with_preferences(inference).await?;
    if request.stream {
        let pieces = way.egress.stream_apart(&inference, request).await?;
        return Ok(stream_of(pieces).into_response());
    }
    Ok(Json(way.egress.chat(&inference, request).await?).into_response())
}

/// Who asks. A person's token is not good here: people chat, and that is another route.
async fn agent(agents: &AgentTokens, headers: &HeaderMap) -> Result<AgentIdentity, OpenAiError> {
    let token = bearer(headers);
    let token = token.map_err(|_| OpenAiError::not_an_agent("send the token of an agent"))?;
    let identity = agents.authenticate(token).await?;
    match identity.agent {
        Principal::Agent(_) => Ok(identity),
        Principal::User => Err(OpenAiError::not_an_agent("this way out is for agents alone")),
    }
}
