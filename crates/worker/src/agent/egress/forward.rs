//! Requests of an agent to the orchestrator.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use cynode_domain::ids::JobId;
use cynode_network::proxy::{LocalRoutes, ProxyBody, full_body};
use futures_util::TryStreamExt as _;
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, HeaderMap, HeaderName,
    HeaderValue, RETRY_AFTER, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use secrecy::ExposeSecret as _;
use serde_json::json;

use super::job_token::JobToken;
use crate::agent::DaemonContext;
use crate::agent::connection::OrchestratorCallError;

/// The longest request of an agent.
const MAX_REQUEST_BYTES: usize = 16 * 1024 * 1024;

/// Headers that are not passed on: they concern one connection, or claim an identity.
const DROPPED: [HeaderName; 9] = [
    AUTHORIZATION,
    CONNECTION,
    CONTENT_LENGTH,
    COOKIE,
    HOST,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];
/// The same, by the start of their names.
const DROPPED_PREFIXES: [&str; 5] =
    ["proxy-", "x-forwarded-", "forwarded", "x-cynode-", "x-api-key"];

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    /// OpenAI's chat completions.
    ChatCompletions,
    /// Anthropic's messages.
    Messages,
    /// Anthropic's count of the tokens of a request.
    CountTokens,
    /// MCP.
    Tools,
}

impl Route {
    /// The route of a path; the query is dropped.
    fn find(method: &Method, path: &str) -> Option<Self> {
        match (method, path) {
            (&Method::POST, "/v1/chat/completions") => Some(Self::ChatCompletions),
            (&Method::POST, "/v1/messages") => Some(Self::Messages),
            (&Method::POST, "/v1/messages/count_tokens") => Some(Self::CountTokens),
            (&Method::POST | &Method::GET | &Method::DELETE, "/mcp") => Some(Self::Tools),
            _ => None,
        }
    }

    /// The path at the orchestrator.
    const fn path(self) -> &'static str {
        match self {
            Self::ChatCompletions => "/v1/egress/chat/completions",
            Self::Messages => "/v1/egress/messages",
            Self::CountTokens => "/v1/egress/messages/count_tokens",
            Self::Tools => "/mcp",
        }
    }
}

/// Passes requests of one job on, with its token.
pub(super) struct OrchestratorRoutes {
    token: JobToken,
    base_url: String,
    client: reqwest::Client,
}

impl OrchestratorRoutes {
    pub(super) fn new(context: Arc<DaemonContext>, job: JobId) -> Self {
        let base_url = context.connection.base_url().trim_end_matches('/').to_owned();
        let client = context.egress_client.clone();
        Self { token: JobToken::new(context, job), base_url, client }
    }

    async fn forward(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<ProxyBody>, AgentRefusal> {
        let route =
            Route::find(request.method(), request.uri().path()).ok_or(AgentRefusal::NoRoute)?;
        let (head, body) = request.into_parts();
        let body = Limited::new(body, MAX_REQUEST_BYTES).collect().await;
        let body = body.map_err(|_| AgentRefusal::InvalidBody)?.to_bytes();
        let mut headers = head.headers;
        remove_headers(&mut headers);
        let mut answer = self.send(route, &head.method, &headers, body.clone()).await?;
        if answer.status() == StatusCode::UNAUTHORIZED {
            self.token.discard().await;
            answer = self.send(route, &head.method, &headers, body).await?;
        }
        Ok(to_response(answer))
    }

    async fn send(
        &self,
        route: Route,
        method: &Method,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<reqwest::Response, AgentRefusal> {
        let token = self.token.get().await.map_err(|error| AgentRefusal::of_token(&error))?;
        let url = format!("{}{}", self.base_url, route.path());
        let request = self.client.request(method.clone(), url).headers(headers.clone());
        let request = request.bearer_auth(token.expose_secret()).body(body);
        request.send().await.map_err(|_| AgentRefusal::Unreachable)
    }
}

#[async_trait]
impl LocalRoutes for OrchestratorRoutes {
    async fn respond(&self, request: Request<Incoming>) -> Response<ProxyBody> {
        self.forward(request).await.unwrap_or_else(AgentRefusal::response)
    }
}

/// Why a request of an agent is not passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
enum AgentRefusal {
    #[error("agents reach /v1/chat/completions, /v1/messages and /mcp here")]
    NoRoute,
    #[error("the body cannot be read, or has more than 16 MiB")]
    InvalidBody,
    #[error("the orchestrator cannot be reached; try again")]
    Unreachable,
    #[error("the job has ended, or its user is disabled")]
    NotAllowed,
}

impl AgentRefusal {
    fn of_token(error: &OrchestratorCallError) -> Self {
        if error.is_final() { Self::NotAllowed } else { Self::Unreachable }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::NoRoute => StatusCode::NOT_FOUND,
            Self::InvalidBody => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unreachable => StatusCode::SERVICE_UNAVAILABLE,
            Self::NotAllowed => StatusCode::FORBIDDEN,
        }
    }

    /// In the form of OpenAI's errors, which agents understand.
    fn response(self) -> Response<ProxyBody> {
        let message = self.to_string();
        let body = json!({ "error": { "message": message, "type": "egress_error" } });
        let mut response = Response::new(full_body(body.to_string()));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self == Self::Unreachable {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

fn remove_headers(headers: &mut HeaderMap) {
    let is_dropped = |name: &HeaderName| {
        DROPPED.contains(name)
            || DROPPED_PREFIXES.iter().any(|prefix| name.as_str().starts_with(prefix))
    };
    let dropped: Vec<HeaderName> =
        headers.keys().filter(|name| is_dropped(name)).cloned().collect();
    for name in dropped {
        headers.remove(name);
    }
}

/// The response as it arrives, without headers that concern one connection.
fn to_response(answer: reqwest::Response) -> Response<ProxyBody> {
    let mut response = Response::new(());
    *response.status_mut() = answer.status();
    answer.headers().clone_into(response.headers_mut());
    remove_headers(response.headers_mut());
    response.map(|()| stream_body(answer))
}

fn stream_body(answer: reqwest::Response) -> ProxyBody {
    let frames = answer.bytes_stream().map_ok(Frame::data).map_err(Into::into);
    StreamBody::new(frames).boxed_unsync()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_decides_and_everything_else_has_no_route() {
        let route = |method: Method, path: &str| Route::find(&method, path);

        assert_eq!(route(Method::POST, "/v1/chat/completions"), Some(Route::ChatCompletions));
        assert_eq!(route(Method::POST, "/v1/messages"), Some(Route::Messages));
        assert_eq!(route(Method::GET, "/mcp"), Some(Route::Tools));
        for path in
            ["/", "/v1/tasks", "/mcp/", "/mcp/server", "/v1/egress/chat/completions", "//mcp"]
        {
            assert_eq!(route(Method::POST, path), None, "{path}");
        }
        assert_eq!(route(Method::PUT, "/mcp"), None);
    }

    #[test]
    fn headers_that_claim_an_identity_are_dropped() {
        let mut headers = HeaderMap::new();
        for name in [
            "authorization",
            "x-api-key",
            "cookie",
            "x-forwarded-for",
            "forwarded",
            "x-cynode-incarnation",
            "proxy-authorization",
            "host",
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static("x"));
        }
        headers.insert("mcp-session-id", HeaderValue::from_static("s"));

        remove_headers(&mut headers);

        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["mcp-session-id"]);
    }
}
