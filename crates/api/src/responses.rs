//! OpenAI's responses API: the newer way of asking, translated to and from a turn of chat.
//!
//! Start at `create`. A request becomes a `ChatRequest` (`request`), the answer becomes a response
//! (`answer`) or its events (`events`); everything between is `ops::chat`, as for chat completions.
//!
//! Invariant: a field that would change what the answer means, and that we cannot honour, is refused
//! by its name and never ignored.

mod answer;
mod events;
mod request;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, Path, State};
use axum::response::{IntoResponse as _, Response};
use cynode_domain::ids::{ChatTurnId, TraceId};
use cynode_ops::chat::{Chat, ChatCall, Link, MANAGER_MODEL};
use cynode_wire::openai::responses::{ResponseRequest, ResponseSettings, ResponseView};
use cynode_wire::openai::{ChatMessage, ErrorBody};
use http::{HeaderMap, StatusCode};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::chat::{OpenAiError, called};
use crate::identity::User;
use crate::unreadable;

/// What the names of responses begin with; the rest is the turn's id.
const PREFIX: &str = "resp_";

/// The routes, for users who are let in as for chat completions.
pub(crate) fn routes() -> OpenApiRouter<Chat> {
    OpenApiRouter::new().routes(routes!(create)).routes(routes!(retrieve))
}

/// Asks the project manager (`cynodeai.pm`, or no model) or a model of a provider.
#[utoipa::path(post, path = "/v1/responses", tag = "chat", request_body = ResponseRequest,
    params(("OpenAI-Project" = Option<String>, Header, description = "project, by id or slug; the default project when absent")),
    responses((status = 200, body = ResponseView, description = "with `stream`, server-sent events"),
              (status = "4XX", body = ErrorBody), (status = "5XX", body = ErrorBody)))]
async fn create(
    State(chat): State<Chat>,
    User(caller): User,
    Extension(trace): Extension<TraceId>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, OpenAiError> {
    let asked: ResponseRequest = unreadable::read(&body?)?;
    let mut call = called(caller, trace, &headers)?;
    let past = past(&chat, &call, &asked).await?;
    let request = request::translated(&asked, past)?;
    let follows = asked.previous_response_id.as_deref().and_then(turn_of);
    let link = Link::after(follows);
    // What is not stored is kept in the thread like everything said, but cannot be named.
    call.link = Some(link).filter(|_| asked.store != Some(false));
    let began_at = began_at(link.id);
    let model = request.model.clone().unwrap_or_else(|| MANAGER_MODEL.to_owned());
    let view = ResponseView::begun(named(link.id), began_at, model, ResponseSettings::from(&asked));
    if request.stream {
        let pieces = chat.stream(call, request).await?;
        Ok(events::stream_of(view, pieces).into_response())
    } else {
        let completion = chat.complete(call, request).await?;
        Ok(Json(answer::whole(view, &completion)).into_response())
    }
}

/// An answer that was stored, without what the request said.
#[utoipa::path(get, path = "/v1/responses/{response}", tag = "chat",
    params(("response" = String, Path, description = "the answer's id, `resp_…`"),
           ("OpenAI-Project" = Option<String>, Header, description = "project, by id or slug; the default project when absent")),
    responses((status = 200, body = ResponseView), (status = "4XX", body = ErrorBody)))]
async fn retrieve(
    State(chat): State<Chat>,
    User(caller): User,
    Extension(trace): Extension<TraceId>,
    headers: HeaderMap,
    Path(name): Path<String>,
) -> Result<Json<ResponseView>, OpenAiError> {
    let call = called(caller, trace, &headers)?;
    let turn = turn_of(&name).ok_or_else(|| unknown(StatusCode::NOT_FOUND, &name))?;
    let past = chat.past_turn(&call, turn).await?;
    let past = past.ok_or_else(|| unknown(StatusCode::NOT_FOUND, &name))?;
    let settings = ResponseSettings {
        previous_response_id: past.follows.map(named),
        ..ResponseSettings::from(&ResponseRequest::default())
    };
    let model = past.answer.model.clone();
    let view = ResponseView::begun(named(turn), began_at(turn), model, settings);
    Ok(Json(answer::whole(view, &past.answer)))
}

/// What was said before, where a request names it.
async fn past(
    chat: &Chat,
    call: &ChatCall,
    asked: &ResponseRequest,
) -> Result<Vec<ChatMessage>, OpenAiError> {
    let Some(name) = &asked.previous_response_id else { return Ok(vec![]) };
    let gone = || unknown(StatusCode::BAD_REQUEST, name).at("previous_response_id");
    let turn = turn_of(name).ok_or_else(gone)?;
    chat.recall(call, turn).await?.ok_or_else(gone)
}

fn unknown(status: StatusCode, name: &str) -> OpenAiError {
    let name: String = name.chars().take(100).collect();
    let message = format!("there is no response \"{name}\" of yours in this project");
    OpenAiError::new(status, message, "response_not_found")
}

/// When a turn began, in seconds since 1970: its id says so.
fn began_at(turn: ChatTurnId) -> i64 {
    let stamp = turn.as_uuid().get_timestamp();
    stamp.and_then(|stamp| i64::try_from(stamp.to_unix().0).ok()).unwrap_or_default()
}

fn named(turn: ChatTurnId) -> String {
    format!("{PREFIX}{turn}")
}

fn turn_of(name: &str) -> Option<ChatTurnId> {
    name.strip_prefix(PREFIX)?.parse().ok()
}
