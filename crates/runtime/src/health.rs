//! How a process is: alive, ready, and its numbers.
//!
//! A process that serves nothing else calls [`serve`]; one that has an HTTP server of its own
//! merges [`routes`] into it. Nothing here asks who is calling, so no answer holds a secret.

pub mod listener;

use std::io;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Json;
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use cynode_wire::health::ReadyView;

pub use self::listener::Listener;
use crate::metrics::Exporter;
use crate::shutdown::Shutdown;

/// How long open requests may take once the process is asked to stop.
const GRACE: Duration = Duration::from_secs(2);

/// The format of Prometheus' text.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Why health is not served.
#[derive(Debug, thiserror::Error)]
pub enum HealthError {
    /// The address means nothing.
    #[error("\"{listen}\" is not an address to listen on; use host:port or unix:/path")]
    BadAddress {
        /// The address given.
        listen: String,
    },
    /// The address cannot be taken; most often another process has it.
    #[error("cannot listen on {listen}: {cause}")]
    Bind {
        /// The address given.
        listen: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The server stopped by itself.
    #[error("the health server stopped")]
    Stopped(#[source] io::Error),
}

/// Whether a process can do its work. Clones share it; it begins as waiting for the start.
#[derive(Debug, Clone)]
pub struct Readiness {
    reasons: Arc<RwLock<Vec<String>>>,
}

impl Default for Readiness {
    fn default() -> Self {
        Self { reasons: Arc::new(RwLock::new(vec!["starting".to_owned()])) }
    }
}

impl Readiness {
    /// Not ready yet: the process is starting.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything needed answers.
    pub fn set_ready(&self) {
        self.set(Vec::new());
    }

    /// Something needed does not answer; `reason` says what, in words for a person.
    pub fn set_waiting(&self, reason: impl Into<String>) {
        self.set(vec![reason.into()]);
    }

    /// What `/readyz` answers.
    pub fn view(&self) -> ReadyView {
        let reasons = self.reasons.read().unwrap_or_else(PoisonError::into_inner).clone();
        ReadyView { ready: reasons.is_empty(), reasons, warnings: vec![] }
    }

    fn set(&self, reasons: Vec<String>) {
        *self.reasons.write().unwrap_or_else(PoisonError::into_inner) = reasons;
    }
}

/// `/healthz`, `/readyz` and, with an exporter, `/metrics`.
pub fn routes(readiness: Readiness, exporter: Option<Exporter>) -> Router {
    let routes = Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(ready).with_state(readiness));
    match exporter {
        Some(exporter) => routes.route("/metrics", get(numbers).with_state(exporter)),
        None => routes,
    }
}

/// Serves [`routes`] on `host:port` or `unix:/path` until shutdown.
pub async fn serve(
    listen: &str,
    readiness: Readiness,
    exporter: Option<Exporter>,
    shutdown: Shutdown,
) -> Result<(), HealthError> {
    let listener = Listener::bind(listen).await?;
    serve_on(listener, routes(readiness, exporter), shutdown).await
}

/// Serves `routes` on a listener that is already open, until shutdown.
pub async fn serve_on(
    listener: Listener,
    routes: Router,
    shutdown: Shutdown,
) -> Result<(), HealthError> {
    tracing::info!(health.listen = listener.address(), "health on {}", listener.address());
    let asked = shutdown.clone();
    let stop = async move { asked.triggered().await };
    let overdue = async move {
        shutdown.triggered().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        ended = listener.run(routes, stop) => ended.map_err(HealthError::Stopped),
        () = overdue => Ok(()),
    }
}

async fn ready(State(readiness): State<Readiness>) -> Response {
    let view = readiness.view();
    let status = if view.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(view)).into_response()
}

async fn numbers(State(exporter): State<Exporter>) -> Response {
    ([(header::CONTENT_TYPE, PROMETHEUS)], exporter.render()).into_response()
}
