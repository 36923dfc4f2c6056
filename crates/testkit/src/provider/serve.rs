//! The server of a scripted provider, on a thread and with a clock of its own.
//!
//! A test may stop its own time; what the provider does takes real time all the same.

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

use super::reply::{Wire, reply};
use super::{SeenRequest, State};

/// A server that runs. Dropping it ends it: its port is closed then, and so is every connection.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) address: SocketAddr,
    /// Ends the server when it is dropped.
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A server that panicked has said so.
            let _ = thread.join();
        }
    }
}

/// Starts the server.
#[expect(clippy::expect_used, reason = "for tests only: what cannot be set up is a panic")]
pub(super) fn start(state: Arc<State>) -> Server {
    let (stop, stopped) = oneshot::channel();
    let (tell, told) = std::sync::mpsc::channel();
    let thread = thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime for the scripted provider");
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            let _ = tell.send(listener.local_addr().expect("an address"));
            // A piece of a stream is small and must not wait for the next.
            let listener = listener.tap_io(|connection| drop(connection.set_nodelay(true)));
            tokio::select! {
                ended = axum::serve(listener, router(state)) => drop(ended),
                _ = stopped => {}
            }
        });
        runtime.shutdown_background();
    });
    let address = told.recv().expect("the scripted provider starts");
    Server { address, stop: Some(stop), thread: Some(thread) }
}

fn router(state: Arc<State>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/messages", post(messages))
        .route("/v1/models", get(models))
        .route("/api/tags", get(tags))
        .layer(DefaultBodyLimit::disable())
        .with_state(state)
}

async fn chat(
    state: Shared<Arc<State>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    answer(state.0, Wire::OpenAi, &uri, &headers, &body).await
}

async fn messages(
    state: Shared<Arc<State>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    answer(state.0, Wire::Anthropic, &uri, &headers, &body).await
}

async fn models(Shared(state): Shared<Arc<State>>, uri: Uri, headers: HeaderMap) -> Response<Body> {
    note(&state, &uri, &headers, &[]);
    let entry = |name: &String| json!({ "id": name, "object": "model", "created": 0, "owned_by": "scripted" });
    let data: Vec<Value> = state.lock().models.iter().map(entry).collect();
    axum::Json(json!({ "object": "list", "data": data })).into_response()
}

async fn tags(Shared(state): Shared<Arc<State>>, uri: Uri, headers: HeaderMap) -> Response<Body> {
    note(&state, &uri, &headers, &[]);
    let models: Vec<Value> =
        state.lock().models.iter().map(|name| json!({ "name": name })).collect();
    axum::Json(json!({ "models": models })).into_response()
}

async fn answer(
    state: Arc<State>,
    wire: Wire,
    uri: &Uri,
    headers: &HeaderMap,
    body: &[u8],
) -> Response<Body> {
    let body = note(&state, uri, headers, body);
    let answer = state.answer(&body);
    reply(state, wire, &body.body, answer).await
}

fn note(state: &State, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> SeenRequest {
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let headers =
        headers.iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect();
    let seen = SeenRequest {
        path: uri.path().to_owned(),
        headers,
        text: text(body),
        body: serde_json::from_slice(body).unwrap_or_default(),
    };
    state.note(seen.clone());
    seen
}
