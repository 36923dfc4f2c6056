//! Serves the listener of a canary run's sandbox.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use cynode_network::proxy::{LocalRoutes, ProxyBody, full_body};
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::json;
use tokio::sync::Semaphore;

use super::chat_completions::{render_chunks, render_completion};
use super::messages::{render_count, render_events, render_message};
use super::model_script::{ModelRequest, ScriptedAnswer};
use super::{CanaryRun, report};

/// The longest request. The prompts of a canary run are short; definitions of tools are not.
const MAX_REQUEST_BYTES: usize = 1024 * 1024;
/// Requests that are held at once, at most.
const MAX_HELD_REQUESTS: usize = 4;
/// How long a request is held.
const HOLD_TIMEOUT: Duration = Duration::from_mins(2);

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// Answers the requests of a canary run.
pub(in crate::agent) struct CanaryRoutes {
    run: Arc<CanaryRun>,
    /// One permit for each request that may be held.
    holds: Semaphore,
}

/// The APIs of models.
#[derive(Debug, Clone, Copy)]
enum ModelApi {
    ChatCompletions,
    Messages,
}

impl CanaryRoutes {
    pub(in crate::agent) fn new(run: Arc<CanaryRun>) -> Self {
        Self { run, holds: Semaphore::new(MAX_HELD_REQUESTS) }
    }

    async fn answer_model(&self, api: ModelApi, body: Vec<u8>) -> Response<ProxyBody> {
        let Ok(request) = serde_json::from_slice::<ModelRequest>(&body) else {
            return self
                .refuse(StatusCode::BAD_REQUEST, "a request to the model is not valid JSON");
        };
        let answer = self.run.answer(&request, &body);
        drop(body);
        if answer == ScriptedAnswer::Hold {
            drop(request);
            return self.hold().await;
        }
        match (api, request.stream) {
            (ModelApi::ChatCompletions, false) => {
                respond(JSON, render_completion(&request, &answer))
            }
            (ModelApi::ChatCompletions, true) => respond(EVENTS, render_chunks(&request, &answer)),
            (ModelApi::Messages, false) => respond(JSON, render_message(&request, &answer)),
            (ModelApi::Messages, true) => respond(EVENTS, render_events(&request, &answer)),
        }
    }

    /// Holds a request until the program closes its connection, which drops the future, or the time is over.
    async fn hold(&self) -> Response<ProxyBody> {
        let Ok(_permit) = self.holds.try_acquire() else {
            let reason = "too many requests wait for the model";
            return error_response(StatusCode::SERVICE_UNAVAILABLE, reason);
        };
        tokio::time::sleep(HOLD_TIMEOUT).await;
        error_response(StatusCode::GATEWAY_TIMEOUT, "the model does not answer")
    }

    fn call_tool(&self, body: &[u8]) -> Response<ProxyBody> {
        match self.run.handle_message(body) {
            Ok(Some(response)) => respond(JSON, response),
            Ok(None) => status_response(StatusCode::ACCEPTED),
            Err(_) => self.refuse(StatusCode::BAD_REQUEST, "a message to /mcp is not valid"),
        }
    }

    /// Remembers a refusal for the report.
    fn refuse(&self, status: StatusCode, reason: &str) -> Response<ProxyBody> {
        self.run.seen().refusal = Some(report::clip_detail(reason));
        error_response(status, reason)
    }
}

#[async_trait]
impl LocalRoutes for CanaryRoutes {
    async fn respond(&self, request: Request<Incoming>) -> Response<ProxyBody> {
        let (head, body) = request.into_parts();
        let path = head.uri.path();
        let Some(body) = read_body(body).await else {
            let reason = format!("a request to {path} is too long, or was cut off");
            return self.refuse(StatusCode::PAYLOAD_TOO_LARGE, &reason);
        };
        // The paths that the orchestrator serves, and the counters for `cynode-sba`.
        match (&head.method, path) {
            (&Method::GET, "/canary") => {
                respond(JSON, serde_json::to_string(&self.run.state()).unwrap_or_default())
            }
            (&Method::POST, "/v1/chat/completions") => {
                self.answer_model(ModelApi::ChatCompletions, body).await
            }
            (&Method::POST, "/v1/messages") => self.answer_model(ModelApi::Messages, body).await,
            (&Method::POST, "/v1/messages/count_tokens") => respond(JSON, render_count()),
            (&Method::POST, "/mcp") => self.call_tool(&body),
            // It offers no event stream of its own, and has no sessions to end.
            (&Method::GET | &Method::DELETE, "/mcp") => {
                status_response(StatusCode::METHOD_NOT_ALLOWED)
            }
            (method, path) => {
                let reason = format!("{method} {path} is not served to agents");
                self.refuse(StatusCode::NOT_FOUND, &reason)
            }
        }
    }
}

/// Reads a body; `None` if it is too long or was cut off. It is copied, because each of many short frames would be stored
/// with more bytes than it has.
async fn read_body(mut body: Incoming) -> Option<Vec<u8>> {
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.ok()?.into_data() else { continue };
        if data.len() > MAX_REQUEST_BYTES - read.len() {
            return None;
        }
        read.extend_from_slice(&data);
    }
    Some(read)
}

fn respond(kind: &'static str, body: String) -> Response<ProxyBody> {
    let mut response = Response::new(full_body(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn status_response(status: StatusCode) -> Response<ProxyBody> {
    let mut response = Response::new(full_body(""));
    *response.status_mut() = status;
    response
}

/// In the form of OpenAI's errors, like those of other jobs.
fn error_response(status: StatusCode, message: &str) -> Response<ProxyBody> {
    let body = json!({ "error": { "message": message, "type": "egress_error" } });
    let mut response = respond(JSON, body.to_string());
    *response.status_mut() = status;
    response
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::super::CanaryOrigin;
    use super::*;

    #[tokio::test]
    async fn few_requests_are_held_at_once_until_their_connections_close() {
        let routes = CanaryRoutes::new(Arc::new(CanaryRun::new(CanaryOrigin::ThisProcess)));
        let ask = || {
            let body = json!({ "system": routes.run.stop_word }).to_string();
            Box::pin(routes.answer_model(ModelApi::Messages, body.into_bytes()))
        };
        let mut held: Vec<_> = (0..MAX_HELD_REQUESTS).map(|_| ask()).collect();

        for request in &mut held {
            assert!(request.now_or_never().is_none());
        }
        let refused = ask().now_or_never().unwrap();
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        held.pop();
        assert!(ask().now_or_never().is_none());
    }
}
