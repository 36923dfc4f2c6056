//! The way out to models for agents: OpenAI's chat completions, with an agent's token.

use std::convert::Infallible;

use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use cynode_domain::ids::TraceId;
use cynode_domain::policy::Principal;
use cynode_ops::agents::{AgentIdentity, AgentTokens};
use cynode_ops::egress::{Egress, EgressStream, Inference};
use cynode_ops::secrets::CleanRequest;
use cynode_wire::openai::{ChatCompletion, ChatRequest};
use futures_util::{StreamExt as _, stream};
use http::header::{CONTENT_TYPE, HeaderMap};
use http::{HeaderValue, StatusCode};
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::identity::bearer;
use crate::openai_error::OpenAiError;

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
    body: axum::body::Bytes,
) -> Result<Response, OpenAiError> {
    let identity = agent(&way.agents, &headers).await?;
    let request: ChatRequest = serde_json::from_slice(&body).map_err(|error| {
        let message = format!("the request cannot be read: {error}");
        let (status, kind) = (StatusCode::BAD_REQUEST, "invalid_request_error");
        OpenAiError::of_kind(status, message, kind, "invalid_request")
    })?;
    let request = CleanRequest::from(request);
    let noted = |key: &str| request.metadata.as_ref()?.get(key)?.as_str().map(ToOwned::to_owned);
    let purpose = noted("purpose").unwrap_or_else(|| "agent".to_owned());
    let mut inference = Inference::of_agent(&identity, &purpose, &trace.to_string());
    inference.prompt_hash = noted("prompt_hash");
    let inference = way.egress.with_preferences(inference).await?;
    if request.stream {
        let pieces = way.egress.stream(&inference, request).await?;
        return Ok(events(pieces));
    }
    Ok(Json(way.egress.chat(&inference, request).await?).into_response())
}

/// Who asks. A person's token is not good here: people chat, and that is another route.
async fn agent(agents: &AgentTokens, headers: &HeaderMap) -> Result<AgentIdentity, OpenAiError> {
    let refused = |message: &str| {
        let (status, kind) = (StatusCode::UNAUTHORIZED, "authentication_error");
        OpenAiError::of_kind(status, message, kind, "invalid_api_key")
    };
    let token = bearer(headers).map_err(|_| refused("send the token of an agent"))?;
    let identity = agents.authenticate(token).await.map_err(|error| refused(&error.to_string()))?;
    match identity.agent {
        Principal::Agent(_) => Ok(identity),
        Principal::User => Err(refused("this way out is for agents alone")),
    }
}

/// The pieces as events. What fails on the way is the last of them, and no end follows it.
fn events(pieces: EgressStream) -> Response {
    let lines = pieces
        .map(|piece| match piece {
            Ok(chunk) => (line(&serde_json::to_value(chunk).unwrap_or(Value::Null)), true),
            Err(error) => {
                let refusal = OpenAiError::from(error);
                (line(&serde_json::to_value(refusal.body()).unwrap_or(Value::Null)), false)
            }
        })
        .chain(stream::once(async { ("data: [DONE]\n\n".to_owned(), true) }))
        .scan(true, |is_going, (line, is_good)| {
            let shown = std::mem::replace(is_going, *is_going && is_good).then_some(line);
            async move { shown }
        });
    let mut response = Response::new(Body::from_stream(lines.map(Ok::<_, Infallible>)));
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

fn line(value: &Value) -> String {
    format!("data: {value}\n\n")
}
