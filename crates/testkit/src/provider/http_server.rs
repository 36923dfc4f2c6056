//! The HTTP server of a scripted provider, on its own thread with its own runtime.
//!
//! A test may pause its own time; the provider still uses real time.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State as Shared};
use axum::http::{HeaderMap, Response, Uri};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use axum::serve::ListenerExt as _;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use super::http_response::{ScriptedApi, respond};
use super::{ScriptedProviderRequest, ScriptedProviderState};

/// A running server. Dropping it closes its port and every connection.
#[derive(Debug)]
pub(super) struct ProviderServer {
    pub(super) address: SocketAddr,
    /// Stops the server on drop.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for ProviderServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the server was printed already.
            let _ = thread.join();
        }
    }
}

/// Starts the server.
#[expect(clippy::expect_used, reason = "for tests only: what cannot be set up is a panic")]
pub(super) fn start_server(state: Arc<ScriptedProviderState>) -> ProviderServer {
    let (stop, stopped) = oneshot::channel();
    let (tell, told) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime for the scripted provider");
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            let _ = tell.send(listener.local_addr().expect("an address"));
            // Small chunks of a stream must be sent at once.
            let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
            tokio::select! {
                ended = axum::serve(listener, router(state)) => drop(ended),
                _ = stopped => {}
            }
        });
        runtime.shutdown_background();
    });
    let address = told.recv().expect("the scripted provider starts");
    ProviderServer { address, stop: Some(stop), thread: Some(thread) }
}

fn router(state: Arc<ScriptedProviderState>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(handle_chat))
        .route("/v1/messages", post(handle_messages))
        .route("/v1/models", get(list_models))
        .route("/api/tags", get(list_tags))
        .layer(DefaultBodyLimit::disable())
        .with_state(state)
}

async fn handle_chat(
    state: Shared<Arc<ScriptedProviderState>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    handle_request(state.0, ScriptedApi::OpenAi, &uri, &headers, &body).await
}

async fn handle_messages(
    state: Shared<Arc<ScriptedProviderState>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    handle_request(state.0, ScriptedApi::Anthropic, &uri, &headers, &body).await
}

async fn list_models(
    Shared(state): Shared<Arc<ScriptedProviderState>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response<Body> {
    record_request(&state, &uri, &headers, &[]);
    let entry = |name: &String| json!({ "id": name, "object": "model", "created": 0, "owned_by": "scripted" });
    let data: Vec<Value> = state.lock().models.iter().map(entry).collect();
    axum::Json(json!({ "object": "list", "data": data })).into_response()
}

async fn list_tags(
    Shared(state): Shared<Arc<ScriptedProviderState>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response<Body> {
    record_request(&state, &uri, &headers, &[]);
    let models: Vec<Value> =
        state.lock().models.iter().map(|name| json!({ "name": name })).collect();
    axum::Json(json!({ "models": models })).into_response()
}

async fn handle_request(
    state: Arc<ScriptedProviderState>,
    wire: ScriptedApi,
    uri: &Uri,
    headers: &HeaderMap,
    body: &[u8],
) -> Response<Body> {
    let body = record_request(&state, uri, headers, body);
    let answer = state.choose_response(&body);
    respond(state, wire, &body.body, answer).await
}

fn record_request(
    state: &ScriptedProviderState,
    uri: &Uri,
    headers: &HeaderMap,
    body: &[u8],
) -> ScriptedProviderRequest {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers =
        headers.iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect();
    let seen = ScriptedProviderRequest {
        path: uri.path().to_owned(),
        headers,
        text: text(body),
        body: serde_json::from_slice(body).unwrap_or_default(),
    };
    state.record_request(seen.clone());
    seen
}
