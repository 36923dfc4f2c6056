//! The way out to models for agents: OpenAI's chat completions, with an agent's token.

use std::pin::Pin;
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use cynode_domain::ids::TraceId;
use cynode_domain::policy::Principal;
use cynode_ops::agents::{AgentIdentity, AgentTokens};
use cynode_ops::egress::{Egress, EgressError, EgressStream, Inference};
use cynode_ops::secrets::CleanRequest;
use cynode_wire::openai::{ChatCompletion, ChatRequest};
use futures_util::{TryStreamExt as _, stream};
use http::HeaderMap;
use tokio::time::timeout;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::chat::stream_of;
use crate::identity::bearer;
use crate::openai_error::OpenAiError;
use crate::unreadable;

/// How long a stream waits for its first piece before it begins without one.
const PROMPT_ANSWER: Duration = Duration::from_secs(5);

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
        let egress = way.egress;
        let begun = async move { egress.stream_apart(&inference, request).await };
        return begun_soon(Box::pin(begun)).await;
    }
    Ok(Json(way.egress.chat(&inference, request).await?).into_response())
}

/// Answers with pieces, or with the error that came before the first. A provider that reads a long prompt takes
/// minutes for that: after a while the stream begins without a piece, and shows by comments that the call lives.
async fn begun_soon(
    mut begun: Pin<Box<dyn Future<Output = Result<EgressStream, EgressError>> + Send>>,
) -> Result<Response, OpenAiError> {
    match timeout(PROMPT_ANSWER, &mut begun).await {
        Ok(pieces) => Ok(stream_of(pieces?).into_response()),
        Err(_) => Ok(stream_of(stream::once(begun).try_flatten()).into_response()),
    }
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

#[cfg(test)]
mod tests {
    use cynode_wire::openai::{ChatChunk, Delta};
    use futures_util::StreamExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stream_whose_model_reads_for_minutes_begins_and_shows_that_it_lives() {
        let reads = async {
            tokio::time::sleep(Duration::from_mins(5)).await;
            Ok(stream::iter([Ok(ChatChunk::of(Delta::text("hi"), None))]).boxed())
        };

        let response = begun_soon(Box::pin(reads)).await.unwrap();

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

        let soon = begun_soon(Box::pin(fails(Duration::from_secs(1)))).await;
        let late = begun_soon(Box::pin(fails(Duration::from_mins(1)))).await.unwrap();

        assert!(soon.is_err());
        let body = axum::body::to_bytes(late.into_body(), usize::MAX).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains("no_provider") && !body.contains("[DONE]"), "{body}");
    }
}
