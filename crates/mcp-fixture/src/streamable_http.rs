//! Streamable HTTP: one endpoint, `/mcp`, for both eras; `/count` for benchmarks.

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use axum::{Json, Router};
use futures_util::StreamExt as _;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::echo;
use crate::fixture::McpFixture;
use crate::handler::FixtureHandler;

/// Web pages of other origins must not reach this server (DNS rebinding).
const LOCAL_ORIGINS: [&str; 3] = ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"];

/// Maximum size of a request body, in bytes.
const MAX_BODY: usize = 4 * 1024 * 1024;

/// The fixture, and its protocol as implemented by `rmcp`.
struct FixtureEndpoint {
    fixture: Arc<McpFixture>,
    service: StreamableHttpService<FixtureHandler, LocalSessionManager>,
}

/// Closes the event stream that responds to a request, before the response.
#[derive(Debug, Clone)]
struct StreamCloser(CancellationToken);

/// Serves the fixture on a listener until the future is dropped.
pub async fn serve(fixture: Arc<McpFixture>, listener: TcpListener) -> std::io::Result<()> {
    // Small responses must be sent at once; without the option they are only slower.
    let listener = listener.tap_io(|stream| {
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router(fixture)).await
}

/// The routes of the fixture.
pub fn router(fixture: Arc<McpFixture>) -> Router {
    let config = StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_allowed_origins(LOCAL_ORIGINS);
    let (sessions, shared) = (Arc::clone(&fixture.sessions), Arc::clone(&fixture));
    let create_handler = move || Ok(FixtureHandler::new(Arc::clone(&shared)));
    let service = StreamableHttpService::new(create_handler, sessions, config);
    Router::new()
        .route("/mcp", post(handle_post).fallback_service(service.clone()))
        .route("/count", get(handle_count))
        .with_state(Arc::new(FixtureEndpoint { fixture, service }))
}

/// `GET /count`
async fn handle_count(State(endpoint): State<Arc<FixtureEndpoint>>) -> Json<Value> {
    let fixture = &endpoint.fixture;
    Json(json!({ "calls": fixture.calls(), "cancelled": fixture.cancelled() }))
}

/// `POST /mcp`
async fn handle_post(State(endpoint): State<Arc<FixtureEndpoint>>, request: Request) -> Response {
    let (mut parts, body) = request.into_parts();
    let Ok(body) = to_bytes(body, MAX_BODY).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    if let Some(response) = echo::fast_response(&endpoint.fixture, &parts.headers, &body) {
        return ([(CONTENT_TYPE, "application/json")], response).into_response();
    }
    let closer = CancellationToken::new();
    parts.extensions.insert(StreamCloser(closer.clone()));
    let request = Request::from_parts(parts, Body::from(body));
    let response = endpoint.service.handle(request).await.map(Body::new);
    let kind = response.headers().get(CONTENT_TYPE);
    if kind.is_none_or(|kind| kind != "text/event-stream") {
        return response;
    }
    response
        .map(|body| Body::from_stream(body.into_data_stream().take_until(closer.cancelled_owned())))
}

/// Closes the event stream of a request; its client can resume it. Does nothing over stdio.
pub(crate) fn close_stream(context: &RequestContext<RoleServer>) {
    let parts = context.extensions.get::<Parts>();
    if let Some(closer) = parts.and_then(|parts| parts.extensions.get::<StreamCloser>()) {
        closer.0.cancel();
    }
}
