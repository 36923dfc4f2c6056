//! From an answer to the bytes of a response, faults included.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{Response, StatusCode};
use axum::response::IntoResponse;
use futures_util::stream;
use serde_json::Value;

use super::answer::{Answer, Cut, Said, What};
use super::{State, anthropic, openai};

/// Which API a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    OpenAi,
    Anthropic,
}

/// Counts an answer as abandoned unless it was read to its end.
struct Reader {
    state: Arc<State>,
    is_done: bool,
}

impl Reader {
    fn done(&mut self) {
        self.is_done = true;
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if !self.is_done {
            self.state.abandoned.send_modify(|count| *count += 1);
        }
    }
}

/// Answers a request with the body `body`.
pub(super) async fn reply(
    state: Arc<State>,
    wire: Wire,
    body: &Value,
    answer: Answer,
) -> Response<Body> {
    let mut reader = Reader { state, is_done: false };
    // Even a sleep of no time lasts until the timer's next tick.
    if !answer.delay.is_zero() {
        tokio::time::sleep(answer.delay).await;
    }
    let is_stream = body["stream"] == true;
    let model = body["model"].as_str().unwrap_or("scripted-model");
    match &answer.what {
        What::Silence => match std::future::pending::<Infallible>().await {},
        What::Status { code, retry_after, message } => {
            reader.done();
            status(wire, *code, retry_after.as_deref(), message)
        }
        What::Raw { content_type, body } => {
            reader.done();
            ([(CONTENT_TYPE, content_type.as_str())], body.clone()).into_response()
        }
        What::Say(said) if is_stream => {
            let with_usage = body["stream_options"]["include_usage"] == true;
            let events = match wire {
                Wire::OpenAi => openai::events(&answer, said, model, with_usage),
                Wire::Anthropic => anthropic::events(&answer, said, model),
            };
            ([(CONTENT_TYPE, "text/event-stream")], pieces(reader, answer, events)).into_response()
        }
        What::Say(said) => {
            let text = whole(wire, &answer, said, model);
            let middle = text.len() / 2;
            let parts = match answer.cut {
                Cut::Whole => {
                    reader.done();
                    return ([(CONTENT_TYPE, "application/json")], text).into_response();
                }
                Cut::BreaksOff(_) | Cut::Stalls(_) => vec![text[..middle].to_owned()],
            };
            ([(CONTENT_TYPE, "application/json")], pieces(reader, answer, parts)).into_response()
        }
    }
}

fn whole(wire: Wire, answer: &Answer, said: &Said, model: &str) -> String {
    match wire {
        Wire::OpenAi => openai::whole(answer, said, model).to_string(),
        Wire::Anthropic => anthropic::whole(answer, said, model).to_string(),
    }
}

fn status(wire: Wire, code: u16, retry_after: Option<&str>, message: &str) -> Response<Body> {
    let body = match wire {
        Wire::OpenAi => openai::error(code, message),
        Wire::Anthropic => anthropic::error(code, message),
    };
    let code = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let json = [(CONTENT_TYPE, "application/json")];
    match retry_after {
        Some(wait) => (code, json, [(RETRY_AFTER, wait)], body.to_string()).into_response(),
        None => (code, json, body.to_string()).into_response(),
    }
}

/// The events one by one, up to where the answer is cut.
fn pieces(reader: Reader, answer: Answer, events: Vec<String>) -> Body {
    let state = (reader, answer, events.into_iter().enumerate());
    Body::from_stream(stream::unfold(state, |(mut reader, answer, mut events)| async move {
        let next = events.next();
        let place = next.as_ref().map_or(usize::MAX, |(place, _)| *place);
        match answer.cut {
            // A body that fails closes the connection in its middle.
            Cut::BreaksOff(count) if place >= count => {
                // What was said before is sent first: a pause makes the server flush it.
                tokio::task::yield_now().await;
                let died = Err(io::Error::other("the script says so"));
                reader.done();
                return Some((died, (reader, answer, events)));
            }
            Cut::Stalls(count) if place >= count => {
                match std::future::pending::<Infallible>().await {}
            }
            Cut::Whole | Cut::BreaksOff(_) | Cut::Stalls(_) => {}
        }
        let Some((_, event)) = next else {
            reader.done();
            return None;
        };
        if !answer.pause.is_zero() && place > 0 {
            tokio::time::sleep(answer.pause).await;
        }
        Some((Ok(event), (reader, answer, events)))
    }))
}
