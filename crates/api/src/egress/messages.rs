//! Anthropic's Messages API for agents, authenticated with an agent token.
//!
//! Start at [`create`]. `request` translates a request to the chat format that every provider gets, `response` a whole
//! answer back and `events` a stream; `token_estimate` estimates the size of a request. Between them is the same egress
//! as for chat completions: access rules, budgets, redaction, timeouts and call records are the same.
//!
//! Requests are translated for every provider, also for those that speak this API (`cynode_llm` translates again). What
//! agents lose there, compared with a direct connection:
//! - `cache_control`: no prompt cache is written, so repeated prompts cost the full price.
//! - `thinking`: the model answers without extended thinking. Passing the option alone would break agents: the API wants
//!   the thinking blocks back with the results of tools, and the chat format cannot carry them.
//! - `top_k`, `output_config`, documents, citations and tools that the provider runs. Documents and such tools are rejected,
//!   the rest is ignored.
//! - The name of the stop sequence: the answer ends with `end_turn` unless the provider reports it.
//! - Positions: the text of an answer precedes all calls of tools.

mod events;
mod request;
mod response;
mod token_estimate;

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use cynode_domain::ids::TraceId;
use cynode_llm_wire::anthropic::{
    CountTokens, MessagesErrorBody, MessagesRequest, MessagesResponse, TokenCount,
};
use cynode_models::egress::Inference;
use cynode_resources::secrets::RedactedRequest;
use http::HeaderMap;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::agent_calls::{AgentEgressState, begin_stream};
use crate::admission::hold_permit;
use crate::anthropic_error::AnthropicError;
use crate::identity::bearer_token;
use crate::json_body::parse_json;
use crate::state::ApiState;
use response::AnswerContext;

/// Header in which Anthropic's clients send an API key; here it holds an agent token.
const KEY_HEADER: &str = "x-api-key";
/// Purpose in the call record. Anthropic's metadata names no purpose.
const PURPOSE: &str = "agent";

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(create)).routes(routes!(count_tokens))
}

/// Creates a message in Anthropic's format, for agents only. The agent token is a bearer token, or in `x-api-key`.
/// Any provider may answer; prompt caching and extended thinking are not supported. With `stream` the answer is a
/// sequence of Anthropic's events.
#[utoipa::path(post, path = "/v1/egress/messages", tag = "models",
    request_body = MessagesRequest,
    responses((status = 200, body = MessagesResponse), (status = "4XX", body = MessagesErrorBody),
        (status = "5XX", body = MessagesErrorBody)))]
async fn create(
    State(calls): State<AgentEgressState>,
    Extension(trace): Extension<TraceId>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, AnthropicError> {
    let (identity, permit) = calls.admit_agent(agent_token(&headers)).await?;
    let request = request::translate(parse_json::<MessagesRequest>(&body?)?)?;
    let context = AnswerContext::new(&request, trace);
    let request = RedactedRequest::from(request);
    let inference = Inference::of_agent(&identity, PURPOSE, &trace.to_string());
    let inference = calls.egress.with_preferences(inference).await?;
    if request.stream {
        let egress = calls.egress;
        let begun = async move { egress.stream_detached(&inference, request).await };
        let chunks = begin_stream(Box::pin(begun)).await?;
        return Ok(hold_permit(events::event_stream(context, chunks).into_response(), permit));
    }
    let completion = calls.egress.chat(&inference, request).await?;
    let message = Json(response::translate(&completion, &context));
    Ok(hold_permit(message.into_response(), permit))
}

/// Estimates the input tokens of a message, for agents only: one token for four bytes of text and tool definitions, 1600
/// for an image. No provider is called.
#[utoipa::path(post, path = "/v1/egress/messages/count_tokens", tag = "models",
    request_body = CountTokens,
    responses((status = 200, body = TokenCount), (status = "4XX", body = MessagesErrorBody),
        (status = "5XX", body = MessagesErrorBody)))]
async fn count_tokens(
    State(calls): State<AgentEgressState>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, AnthropicError> {
    let (_, permit) = calls.admit_agent(agent_token(&headers)).await?;
    let request = request::translate_input(parse_json::<CountTokens>(&body?)?)?;
    let input_tokens = token_estimate::request_tokens(&request);
    Ok(hold_permit(Json(TokenCount { input_tokens }).into_response(), permit))
}

/// The bearer token, or the token in the header of an API key.
fn agent_token(headers: &HeaderMap) -> Option<&str> {
    let key = || headers.get(KEY_HEADER)?.to_str().ok().map(str::trim);
    bearer_token(headers).ok().or_else(key)
}

#[cfg(test)]
mod tests;
