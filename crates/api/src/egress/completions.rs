//! Chat completions for agents: OpenAI's format, authenticated with an agent token.

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use cynode_domain::ids::TraceId;
use cynode_llm_wire::openai::{ChatCompletion, ChatRequest};
use cynode_models::egress::Inference;
use cynode_resources::secrets::RedactedRequest;
use http::HeaderMap;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::agent_calls::{AgentEgressState, begin_stream};
use crate::admission::hold_permit;
use crate::chat::sse_stream;
use crate::identity::bearer_token;
use crate::json_body;
use crate::openai_error::OpenAiError;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(complete))
}

/// Creates a chat completion, for agents only. `metadata.purpose` and `metadata.prompt_hash` are recorded.
#[utoipa::path(post, path = "/v1/egress/chat/completions", tag = "models",
    request_body = ChatRequest,
    responses((status = 200, body = ChatCompletion),
        (status = "4XX", body = cynode_llm_wire::openai::ErrorBody)))]
async fn complete(
    State(way): State<AgentEgressState>,
    Extension(trace): Extension<TraceId>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, OpenAiError> {
    let (identity, permit) = way.admit_agent(bearer_token(&headers).ok()).await?;
    let request = RedactedRequest::from(json_body::parse_json::<ChatRequest>(&body?)?);
    let noted = |key: &str| request.metadata.as_ref()?.get(key)?.as_str().map(ToOwned::to_owned);
    let purpose = noted("purpose").unwrap_or_else(|| "agent".to_owned());
    let mut inference = Inference::of_agent(&identity, &purpose, &trace.to_string());
    inference.prompt_hash = noted("prompt_hash");
    let inference = way.egress.with_preferences(inference).await?;
    if request.stream {
        let egress = way.egress;
        let begun = async move { egress.stream_detached(&inference, request).await };
        let chunks = begin_stream(Box::pin(begun)).await?;
        return Ok(hold_permit(sse_stream(chunks).into_response(), permit));
    }
    let completion = Json(way.egress.chat(&inference, request).await?);
    Ok(hold_permit(completion.into_response(), permit))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use cynode_llm_wire::openai::{ChatChunk, Delta};
    use cynode_models::egress::EgressError;
    use futures_util::{StreamExt as _, stream};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_stream_whose_model_reads_for_minutes_begins_and_shows_that_it_lives() {
        let reads = async {
            tokio::time::sleep(Duration::from_mins(5)).await;
            Ok(stream::iter([Ok(ChatChunk::new(Delta::text("hi"), None))]).boxed())
        };

        let response = sse_stream(begin_stream(Box::pin(reads)).await.unwrap()).into_response();

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

        let soon = begin_stream(Box::pin(fails(Duration::from_secs(1)))).await;
        let late = begin_stream(Box::pin(fails(Duration::from_mins(1)))).await.unwrap();

        assert!(soon.is_err());
        let late = sse_stream(late).into_response();
        let body = axum::body::to_bytes(late.into_body(), usize::MAX).await.unwrap();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(body.contains("no_provider") && !body.contains("[DONE]"), "{body}");
    }
}
