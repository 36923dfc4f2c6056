//! Chat completions for agents: OpenAI's format, authenticated with an agent token.

use std::pin::Pin;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use cynode_domain::ids::TraceId;
use cynode_domain::policy::Principal;
use cynode_models::{egress::Egress, egress::EgressError, egress::EgressStream, egress::Inference};
use cynode_resources::request_limits::{RequestLimits, Requester};
use cynode_resources::secrets::RedactedRequest;
use cynode_resources::{agents::AgentIdentity, agents::AgentTokens};
use cynode_wire::openai::{ChatCompletion, ChatRequest};
use futures_util::{TryStreamExt as _, stream};
use http::HeaderMap;
use tokio::time::timeout;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::admission::hold_permit;
use crate::chat::sse_stream;
use crate::identity::bearer_token;
use crate::json_body;
use crate::openai_error::OpenAiError;

/// How long a response waits for the first chunk before the stream starts without one.
const FIRST_CHUNK_WAIT: Duration = Duration::from_secs(5);

/// State of the route.
#[derive(Clone)]
struct AgentEgressState {
    egress: Egress,
    agents: AgentTokens,
    limits: RequestLimits,
}

pub(crate) fn routes(egress: Egress, agents: AgentTokens, limits: RequestLimits) -> OpenApiRouter {
    let state = AgentEgressState { egress, agents, limits };
    OpenApiRouter::new().routes(routes!(complete)).with_state(state)
}

/// Creates a chat completion, for agents only. `metadata.purpose` and `metadata.prompt_hash` are recorded.
#[utoipa::path(post, path = "/v1/egress/chat/completions", tag = "models",
    request_body = ChatRequest,
    responses((status = 200, body = ChatCompletion),
        (status = "4XX", body = cynode_wire::openai::ErrorBody)))]
async fn complete(
    State(way): State<AgentEgressState>,
    Extension(trace): Extension<TraceId>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, OpenAiError> {
    let identity = authenticate_agent(&way.agents, &headers).await?;
    let permit =
        way.limits.admit(Requester::from(&identity)).map_err(OpenAiError::agent_over_limit)?;
    let request = RedactedRequest::from(json_body::parse_json::<ChatRequest>(&body?)?);
    let noted = |key: &str| request.metadata.as_ref()?.get(key)?.as_str().map(ToOwned::to_owned);
    let purpose = noted("purpose").unwrap_or_else(|| "agent".to_owned());
    let mut inference = Inference::of_agent(&identity, &purpose, &trace.to_string());
    inference.prompt_hash = noted("prompt_hash");
    let inference = way.egress.with_preferences(inference).await?;
    if request.stream {
        let egress = way.egress;
        let begun = async move { egress.stream_detached(&inference, request).await };
        return Ok(hold_permit(respond_with_stream(Box::pin(begun)).await?, permit));
    }
    let completion = Json(way.egress.chat(&inference, request).await?);
    Ok(hold_permit(completion.into_response(), permit))
}

/// Responds with the stream, or with an error that occurs before the first chunk. A provider may need minutes for a
/// long prompt: after [`FIRST_CHUNK_WAIT`] the stream starts without a chunk, and keep-alive comments follow.
async fn respond_with_stream(
    mut begun: Pin<Box<dyn Future<Output = Result<EgressStream, EgressError>> + Send>>,
) -> Result<Response, OpenAiError> {
    match timeout(FIRST_CHUNK_WAIT, &mut begun).await {
        Ok(chunks) => Ok(sse_stream(chunks?).into_response()),
        Err(_) => Ok(sse_stream(stream::once(begun).try_flatten()).into_response()),
    }
}

/// Authenticates the agent. User tokens are rejected: users have the chat route.
async fn authenticate_agent(
    agents: &AgentTokens,
    headers: &HeaderMap,
) -> Result<AgentIdentity, OpenAiError> {
    let token = bearer_token(headers);
    let token = token.map_err(|_| OpenAiError::not_an_agent("send an agent token"))?;
    let identity = agents.authenticate(token).await?;
    match identity.agent {
        Principal::Agent(_) => Ok(identity),
        Principal::User => Err(OpenAiError::not_an_agent("this route accepts agent tokens only")),
    }
}

#[cfg(test)]
mod tests {
    use cynode_wire::openai::{ChatChunk, Delta};
    use futures_util::StreamExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stream_whose_model_reads_for_minutes_begins_and_shows_that_it_lives() {
        let reads = async {
            tokio::time::sleep(Duration::from_mins(5)).await;
            Ok(stream::iter([Ok(ChatChunk::new(Delta::text("hi"), None))]).boxed())
        };

        let response = respond_with_stream(Box::pin(reads)).await.unwrap();

        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        let (before, after) = body.split_once("\"hi\"").unwrap();
        assert!(before.matches(":\n").count() > 20, "{before}");
        assert!(after.ends_with("data: [DONE]\n\n"), "{after}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_before_the_stream_begins_has_a_status_and_later_it_is_an_event() {
        let fails = |after: Duration| async move {
            tokio::time::sleep(after).await;
            Err(EgressError::NoProvider)
        };

        let soon = respond_with_stream(Box::pin(fails(Duration::from_secs(1)))).await;
        let late = respond_with_stream(Box::pin(fails(Duration::from_mins(1)))).await.unwrap();

        assert!(soon.is_err());
        let body = axum::body::to_bytes(late.into_body(), usize::MAX).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains("no_provider") && !body.contains("[DONE]"), "{body}");
    }
}
