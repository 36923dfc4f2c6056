//! A small HTTP server whose behaviour each test defines.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use futures_util::stream;
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc;

/// The response to one HTTP request.
pub(super) enum Reply {
    Json(u16, Value),
    Bytes(u16, &'static str, Vec<u8>),
    /// Opens a stream that carries the text sent into the channel.
    Stream(mpsc::Receiver<String>),
    /// Never responds.
    Silence,
    /// A JSON response that opens a session.
    Session(String, Value),
}

/// One received HTTP request.
#[derive(Debug, Clone)]
pub(super) struct ReceivedRequest {
    pub(super) verb: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Value,
}

impl ReceivedRequest {
    pub(super) fn method(&self) -> &str {
        self.body["method"].as_str().unwrap_or_default()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// A JSON response with this result.
    pub(super) fn result(&self, result: Value) -> Reply {
        let mut answer = json!({"jsonrpc": "2.0", "id": self.body["id"]});
        answer["result"] = result;
        Reply::Json(200, answer)
    }

    pub(super) fn error(&self, status: u16, code: i64) -> Reply {
        let error = json!({"code": code, "message": "no"});
        Reply::Json(status, json!({"jsonrpc": "2.0", "id": self.body["id"], "error": error}))
    }
}

type FakeBehaviour = Arc<dyn Fn(&ReceivedRequest) -> Reply + Send + Sync>;

pub(super) struct Fake {
    pub(super) url: String,
    seen: Arc<Mutex<Vec<ReceivedRequest>>>,
    stop: tokio_util::sync::CancellationToken,
}

#[derive(Clone)]
struct FakeServerState {
    behaviour: FakeBehaviour,
    seen: Arc<Mutex<Vec<ReceivedRequest>>>,
}

impl Fake {
    /// Listens on a free port with this behaviour.
    pub(super) async fn start(
        behaviour: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(vec![]));
        let shared = FakeServerState { behaviour: Arc::new(behaviour), seen: Arc::clone(&seen) };
        let router = Router::new().fallback(handle).with_state(shared);
        let stop = tokio_util::sync::CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        cynode_runtime::tasks::BackgroundTasks::new().spawn("fake", async move {
            tokio::select! {
                () = stopped => {}
                served = axum::serve(listener, router) => served.unwrap(),
            }
        });
        Self { url, seen, stop }
    }

    /// A server with sessions; `call` answers every request but the handshake.
    pub(super) async fn with_sessions(
        call: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let sessions = std::sync::atomic::AtomicU32::new(0);
        Self::start(move |seen| match (&seen.verb, seen.method()) {
            (&Method::POST, "initialize") => {
                let number = sessions.fetch_add(1, std::sync::atomic::Ordering::SeqCst) + 1;
                let answer =
                    json!({"jsonrpc": "2.0", "id": seen.body["id"], "result": handshake_result(seen)});
                Reply::Session(format!("session-{number}"), answer)
            }
            (&Method::POST, "server/discover") => seen.error(400, -32601),
            (&Method::POST, method) if method.starts_with("notifications/") => accepted(),
            (&Method::DELETE, _) => accepted(),
            _ => call(seen),
        })
        .await
    }

    /// A server without sessions.
    pub(super) async fn stateless(
        call: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::start(move |seen| match (&seen.verb, seen.method()) {
            (&Method::POST, "server/discover") => seen.result(json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": capabilities(), "ttlMs": 0, "cacheScope": "private",
                "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "fake", "version": "2"}},
            })),
            (&Method::POST, "initialize") => seen.error(404, -32601),
            (&Method::POST, _) => call(seen),
            _ => Reply::Bytes(405, "text/plain", vec![]),
        })
        .await
    }

    /// Every received request.
    pub(super) fn seen(&self) -> Vec<ReceivedRequest> {
        self.seen.lock().unwrap().clone()
    }

    /// The received requests with this JSON-RPC method.
    pub(super) fn received_with_method(&self, method: &str) -> Vec<ReceivedRequest> {
        self.seen().into_iter().filter(|seen| seen.method() == method).collect()
    }

    /// Waits for a matching request.
    pub(super) async fn wait_for(
        &self,
        predicate: impl Fn(&ReceivedRequest) -> bool,
    ) -> ReceivedRequest {
        loop {
            if let Some(found) = self.seen().into_iter().find(|seen| predicate(seen)) {
                return found;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn capabilities() -> Value {
    json!({"tools": {"listChanged": true}, "resources": {"subscribe": true}, "logging": {}})
}

fn handshake_result(seen: &ReceivedRequest) -> Value {
    json!({
        "protocolVersion": seen.body["params"]["protocolVersion"], "capabilities": capabilities(),
        "serverInfo": {"name": "fake", "version": "1"}, "instructions": "Be kind.",
    })
}

pub(super) fn accepted() -> Reply {
    Reply::Bytes(202, "text/plain", vec![])
}

/// A stream and the sender into it.
pub(super) fn stream() -> (mpsc::Sender<String>, Reply) {
    let (sender, receiver) = mpsc::channel(64);
    (sender, Reply::Stream(receiver))
}

/// A stream with these messages that then ends.
pub(super) fn events(messages: &[Value]) -> Reply {
    let (sender, reply) = stream();
    for message in messages {
        sender.try_send(event(message)).unwrap();
    }
    reply
}

pub(super) fn event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}

async fn handle(
    State(shared): State<FakeServerState>,
    request: axum::extract::Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let body: Bytes = axum::body::to_bytes(body, 1 << 24).await.unwrap();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let seen = ReceivedRequest { verb: parts.method, headers: parts.headers, body };
    shared.seen.lock().unwrap().push(seen.clone());
    let respond = |status: u16, kind: &str| {
        let status = StatusCode::from_u16(status).unwrap();
        Response::builder().status(status).header("content-type", kind)
    };
    match (shared.behaviour)(&seen) {
        Reply::Json(status, value) => {
            respond(status, "application/json").body(Body::from(value.to_string())).unwrap()
        }
        Reply::Session(session, value) => respond(200, "application/json")
            .header("mcp-session-id", session)
            .body(Body::from(value.to_string()))
            .unwrap(),
        Reply::Bytes(status, kind, bytes) => respond(status, kind).body(Body::from(bytes)).unwrap(),
        Reply::Silence => std::future::pending().await,
        Reply::Stream(receiver) => {
            let events = stream::unfold(receiver, |mut receiver| async {
                let text = receiver.recv().await?;
                Some((Ok::<_, Infallible>(Bytes::from(text)), receiver))
            });
            respond(200, "text/event-stream").body(Body::from_stream(events)).unwrap()
        }
    }
}
