//! Renders a scripted response as HTTP, including faults.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use futures_util::stream;
use serde_json::Value;

use super::scripted_response::{Answer, ResponseCut, ResponseKind, ScriptedMessage};
use super::{ScriptedProviderState, anthropic, openai};

/// The API of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptedApi {
    OpenAi,
    Anthropic,
}

/// Counts a response as abandoned unless it is read to its end.
struct AbandonGuard {
    state: Arc<ScriptedProviderState>,
    is_done: bool,
}

impl AbandonGuard {
    fn complete(&mut self) {
        self.is_done = true;
    }
}

impl Drop for AbandonGuard {
    fn drop(&mut self) {
        if !self.is_done {
            self.state.abandoned.send_modify(|count| *count += 1);
        }
    }
}

/// Responds to a request with the body `body`.
pub(super) async fn respond(
    state: Arc<ScriptedProviderState>,
    wire: ScriptedApi,
    body: &Value,
    answer: Answer,
) -> Response<Body> {
    let mut reader = AbandonGuard { state, is_done: false };
    // Even a zero sleep lasts until the timer's next tick.
    if !answer.delay.is_zero() {
        tokio::time::sleep(answer.delay).await;
    }
    let is_stream = body["stream"] == true;
    let model = body["model"].as_str().unwrap_or("scripted-model");
    match &answer.kind {
        ResponseKind::NoResponse => match std::future::pending::<Infallible>().await {},
        ResponseKind::Status { code, retry_after, message } => {
            reader.complete();
            error_response(wire, *code, retry_after.as_deref(), message)
        }
        ResponseKind::Raw { content_type, body } => {
            reader.complete();
            ([(CONTENT_TYPE, content_type.as_str())], body.clone()).into_response()
        }
        ResponseKind::Message(message) if is_stream => {
            let with_usage = body["stream_options"]["include_usage"] == true;
            let events = match wire {
                ScriptedApi::OpenAi => openai::events(&answer, message, model, with_usage),
                ScriptedApi::Anthropic => anthropic::events(&answer, message, model),
            };
            ([(CONTENT_TYPE, "text/event-stream")], stream_events(reader, answer, events))
                .into_response()
        }
        ResponseKind::Message(message) => {
            let text = render_body(wire, &answer, message, model);
            let middle = text.len() / 2;
            let parts = match answer.cut {
                ResponseCut::Complete => {
                    reader.complete();
                    return ([(CONTENT_TYPE, "application/json")], text).into_response();
                }
                ResponseCut::Disconnect(_) | ResponseCut::Stall(_) => {
                    vec![text[..middle].to_owned()]
                }
            };
            ([(CONTENT_TYPE, "application/json")], stream_events(reader, answer, parts))
                .into_response()
        }
    }
}

fn render_body(
    wire: ScriptedApi,
    answer: &Answer,
    message: &ScriptedMessage,
    model: &str,
) -> String {
    match wire {
        ScriptedApi::OpenAi => openai::response_body(answer, message, model).to_string(),
        ScriptedApi::Anthropic => anthropic::response_body(answer, message, model).to_string(),
    }
}

fn error_response(
    wire: ScriptedApi,
    code: u16,
    retry_after: Option<&str>,
    message: &str,
) -> Response<Body> {
    let body = match wire {
        ScriptedApi::OpenAi => openai::error_body(code, message),
        ScriptedApi::Anthropic => anthropic::error_body(code, message),
    };
    let code = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let json = [(CONTENT_TYPE, "application/json")];
    match retry_after {
        Some(wait) => (code, json, [(RETRY_AFTER, wait)], body.to_string()).into_response(),
        None => (code, json, body.to_string()).into_response(),
    }
}

/// Streams the events up to the cut.
fn stream_events(reader: AbandonGuard, answer: Answer, events: Vec<String>) -> Body {
    let state = (reader, answer, events.into_iter().enumerate());
    Body::from_stream(stream::unfold(state, |(mut reader, answer, mut events)| async move {
        let next = events.next();
        let place = next.as_ref().map_or(usize::MAX, |(place, _)| *place);
        match answer.cut {
            // A failing body closes the connection.
            ResponseCut::Disconnect(count) if place >= count => {
                // Yield, so that the server flushes the earlier chunks first.
                tokio::task::yield_now().await;
                let died = Err(io::Error::other("scripted failure"));
                reader.complete();
                return Some((died, (reader, answer, events)));
            }
            ResponseCut::Stall(count) if place >= count => {
                match std::future::pending::<Infallible>().await {}
            }
            ResponseCut::Complete | ResponseCut::Disconnect(_) | ResponseCut::Stall(_) => {}
        }
        let Some((_, event)) = next else {
            reader.complete();
            return None;
        };
        if !answer.pause.is_zero() && place > 0 {
            tokio::time::sleep(answer.pause).await;
        }
        Some((Ok(event), (reader, answer, events)))
    }))
}
