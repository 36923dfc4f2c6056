//! OpenAI's responses API, translated to and from a chat turn.
//!
//! Start at `create`. A request becomes a `ChatRequest` (`request`); the answer becomes a response
//! (`completion`) or its events (`events`). Everything between is `ops::chat`, as for chat completions.
//!
//! Invariant: an unsupported field that would change the meaning of the answer is rejected by name,
//! never ignored.

mod completion;
mod events;
mod request;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, Path, State};
use axum::response::{IntoResponse as _, Response};
use cynode_domain::ids::{ChatTurnId, TraceId};
use cynode_domain::text::truncate_chars;
use cynode_llm_wire::openai::responses::{ResponseRequest, ResponseSettings, ResponseView};
use cynode_llm_wire::openai::{ChatMessage, ErrorBody};
use cynode_ops::{chat::Chat, chat::ChatCall, chat::Link, chat::MANAGER_MODEL};
use http::{HeaderMap, StatusCode};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::chat::{OpenAiError, chat_call};
use crate::identity::AuthenticatedUser;
use crate::json_body;
use crate::state::ApiState;

/// Prefix of response ids; the rest is the turn's id.
const PREFIX: &str = "resp_";

/// The routes; authenticated like chat completions.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(create)).routes(routes!(retrieve))
}

/// Creates a response with the project manager (`cynodeai.pm`, or no model) or a model of a provider.
#[utoipa::path(post, path = "/v1/responses", tag = "chat", request_body = ResponseRequest,
    params(("OpenAI-Project" = Option<String>, Header, description = "project, by id or slug; the default project when absent")),
    responses((status = 200, body = ResponseView, description = "with `stream`, server-sent events"),
              (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody)))]
async fn create(
    State(chat): State<Chat>,
    AuthenticatedUser(caller): AuthenticatedUser,
    Extension(trace): Extension<TraceId>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, OpenAiError> {
    let response_request: ResponseRequest = json_body::parse_json(&body?)?;
    let mut call = chat_call(caller, trace, &headers)?;
    let past = load_earlier_messages(&chat, &call, &response_request).await?;
    let request = request::to_chat_request(&response_request, past)?;
    let follows = response_request.previous_response_id.as_deref().and_then(parse_response_id);
    let link = Link::after(follows);
    // With `store: false` the turn stays in the thread but cannot be referenced by id.
    call.link = Some(link).filter(|_| response_request.store != Some(false));
    let began_at = turn_started_at(link.id);
    let model = request.model.clone().unwrap_or_else(|| MANAGER_MODEL.to_owned());
    let view = ResponseView::begun(
        response_id(link.id),
        began_at,
        model,
        ResponseSettings::from(&response_request),
    );
    if request.stream {
        let chunks = chat.stream(call, request).await?;
        Ok(events::event_stream(view, chunks).into_response())
    } else {
        let completion = chat.complete(call, request).await?;
        Ok(Json(completion::build_response(view, &completion)).into_response())
    }
}

/// Returns a stored response, without the request's settings.
#[utoipa::path(get, path = "/v1/responses/{response}", tag = "chat",
    params(("response" = String, Path, description = "the answer's id, `resp_…`"),
           ("OpenAI-Project" = Option<String>, Header, description = "project, by id or slug; the default project when absent")),
    responses((status = 200, body = ResponseView), (status = "4XX", body = ErrorBody)))]
async fn retrieve(
    State(chat): State<Chat>,
    AuthenticatedUser(caller): AuthenticatedUser,
    Extension(trace): Extension<TraceId>,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Result<Json<ResponseView>, OpenAiError> {
    let call = chat_call(caller, trace, &headers)?;
    let turn =
        parse_response_id(&name).ok_or_else(|| response_not_found(StatusCode::NOT_FOUND, &name))?;
    let past = chat.load_past_turn(&call, turn).await?;
    let past = past.ok_or_else(|| response_not_found(StatusCode::NOT_FOUND, &name))?;
    let settings = ResponseSettings {
        previous_response_id: past.follows.map(response_id),
        ..ResponseSettings::from(&ResponseRequest::default())
    };
    let model = past.answer.model.clone();
    let view = ResponseView::begun(response_id(turn), turn_started_at(turn), model, settings);
    Ok(Json(completion::build_response(view, &past.answer)))
}

/// Loads the messages before this turn, if the request has a `previous_response_id`.
async fn load_earlier_messages(
    chat: &Chat,
    call: &ChatCall,
    response_request: &ResponseRequest,
) -> Result<Vec<ChatMessage>, OpenAiError> {
    let Some(name) = &response_request.previous_response_id else { return Ok(vec![]) };
    let gone =
        || response_not_found(StatusCode::BAD_REQUEST, name).with_param("previous_response_id");
    let turn = parse_response_id(name).ok_or_else(gone)?;
    chat.recall(call, turn).await?.ok_or_else(gone)
}

fn response_not_found(status: StatusCode, name: &str) -> OpenAiError {
    let name = truncate_chars(name, 100);
    let message = format!("you have no response \"{name}\" in this project");
    OpenAiError::new(status, message, "response_not_found")
}

/// The start of a turn as a Unix timestamp, from its UUID v7.
fn turn_started_at(turn: ChatTurnId) -> i64 {
    let stamp = turn.as_uuid().get_timestamp();
    stamp.and_then(|stamp| i64::try_from(stamp.to_unix().0).ok()).unwrap_or_default()
}

fn response_id(turn: ChatTurnId) -> String {
    format!("{PREFIX}{turn}")
}

fn parse_response_id(name: &str) -> Option<ChatTurnId> {
    name.strip_prefix(PREFIX)?.parse().ok()
}
