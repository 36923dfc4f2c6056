//! An HTTP receiver that records what it gets and answers as it is told.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_notifications::{ID_HEADER, SIGNATURE_HEADER, TIMESTAMP_HEADER, sign};
use cynode_runtime::tasks::BackgroundTasks;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap().to_str().unwrap()
    }

    pub(crate) fn id(&self) -> &str {
        self.header(ID_HEADER)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Whether the signature was made with `secret` over this id, time and body.
    pub(crate) fn is_signed_with(&self, secret: &str) -> bool {
        let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
        let timestamp = self.header(TIMESTAMP_HEADER).parse().unwrap();
        self.header(SIGNATURE_HEADER) == sign(&key, self.id(), timestamp, &self.body)
    }
}

/// How a receiver answers.
#[derive(Debug, Clone)]
pub(crate) enum ReceiverAnswer {
    Status(StatusCode),
    Redirect(String),
    /// Never.
    Silence,
}

struct ReceiverState {
    received: Mutex<Vec<Received>>,
    answer: Mutex<ReceiverAnswer>,
    arrived: Notify,
}

#[derive(Clone)]
pub(crate) struct Receiver {
    pub(crate) url: String,
    state: Arc<ReceiverState>,
}

impl Receiver {
    pub(crate) async fn start() -> Self {
        Self::start_at("127.0.0.1:0").await
    }

    pub(crate) async fn start_at(address: &str) -> Self {
        let state = Arc::new(ReceiverState {
            received: Mutex::default(),
            answer: Mutex::new(ReceiverAnswer::Status(StatusCode::NO_CONTENT)),
            arrived: Notify::new(),
        });
        let listener = TcpListener::bind(address).await.unwrap();
        let url = format!("http://{}/hook?token=secret", listener.local_addr().unwrap());
        let router = Router::new().fallback(post(receive)).with_state(Arc::clone(&state));
        BackgroundTasks::new()
            .spawn("receiver", async move { axum::serve(listener, router).await.unwrap() });
        Self { url, state }
    }

    pub(crate) fn answer(&self, answer: ReceiverAnswer) {
        *self.state.answer.lock().unwrap() = answer;
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.state.received.lock().unwrap().clone()
    }

    /// Waits for a number of requests.
    pub(crate) async fn wait_for(&self, count: usize) {
        loop {
            let arrived = self.state.arrived.notified();
            if self.received().len() >= count {
                return;
            }
            arrived.await;
        }
    }
}

async fn receive(
    State(state): State<Arc<ReceiverState>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    state.received.lock().unwrap().push(Received { headers, body: body.to_vec() });
    state.arrived.notify_waiters();
    let answer = state.answer.lock().unwrap().clone();
    match answer {
        ReceiverAnswer::Status(status) => status.into_response(),
        ReceiverAnswer::Redirect(target) => {
            (StatusCode::TEMPORARY_REDIRECT, [("location", target)]).into_response()
        }
        ReceiverAnswer::Silence => std::future::pending().await,
    }
}
