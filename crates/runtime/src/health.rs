//! Liveness, readiness and metrics endpoints.
//!
//! A process without an HTTP server calls [`serve`]; others merge [`routes`] into theirs. The endpoints
//! are unauthenticated, so no response contains a secret.

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

pub use self::listener::HealthListener;
use crate::metrics::MetricsExporter;
use crate::shutdown::Shutdown;

/// How long open requests may take after shutdown was triggered.
const GRACE: Duration = Duration::from_secs(2);

/// Content type of the Prometheus text format.
const PROMETHEUS_CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Errors of the health server.
#[derive(Debug, thiserror::Error)]
pub enum HealthError {
    #[error("\"{listen}\" is not an address to listen on; use host:port or unix:/path")]
    BadAddress { listen: String },
    /// Usually another process uses the address.
    #[error("cannot listen on {listen}: {cause}")]
    Bind { listen: String, cause: io::Error },
    #[error("the health server stopped")]
    Stopped(#[source] io::Error),
}

/// Readiness of a process. Clones share it; the initial state is not ready (`starting`).
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
    pub fn new() -> Self {
        Self::default()
    }

    /// All dependencies are available.
    pub fn set_ready(&self) {
        self.set(Vec::new());
    }

    /// A dependency is unavailable; `reason` is for people.
    pub fn set_waiting(&self, reason: impl Into<String>) {
        self.set(vec![reason.into()]);
    }

    /// The body of `/readyz`.
    pub fn view(&self) -> ReadyView {
        let reasons = self.reasons.read().unwrap_or_else(PoisonError::into_inner).clone();
        ReadyView { ready: reasons.is_empty(), reasons, warnings: vec![] }
    }

    fn set(&self, reasons: Vec<String>) {
        *self.reasons.write().unwrap_or_else(PoisonError::into_inner) = reasons;
    }
}

/// `/healthz`, `/readyz` and, with an exporter, `/metrics`.
pub fn routes(readiness: Readiness, exporter: Option<MetricsExporter>) -> Router {
    let routes = Router::new()
        .route("/healthz", get(|| async { "ok" }))
        .route("/readyz", get(report_readiness).with_state(readiness));
    match exporter {
        Some(exporter) => routes.route("/metrics", get(render_metrics).with_state(exporter)),
        None => routes,
    }
}

/// Serves [`routes`] on `host:port` or `unix:/path` until shutdown.
pub async fn serve(
    listen: &str,
    readiness: Readiness,
    exporter: Option<MetricsExporter>,
    shutdown: Shutdown,
) -> Result<(), HealthError> {
    let listener = HealthListener::bind(listen).await?;
    serve_on(listener, routes(readiness, exporter), shutdown).await
}

/// Serves `routes` on an open listener until shutdown.
pub async fn serve_on(
    listener: HealthListener,
    routes: Router,
    shutdown: Shutdown,
) -> Result<(), HealthError> {
    tracing::info!(health.listen = listener.address(), "health server listening");
    let stopping = shutdown.clone();
    let stop = async move { stopping.triggered().await };
    let overdue = async move {
        shutdown.triggered().await;
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        ended = listener.run(routes, stop) => ended.map_err(HealthError::Stopped),
        () = overdue => Ok(()),
    }
}

async fn report_readiness(State(readiness): State<Readiness>) -> Response {
    let view = readiness.view();
    let status = if view.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(view)).into_response()
}

async fn render_metrics(State(exporter): State<MetricsExporter>) -> Response {
    ([(header::CONTENT_TYPE, PROMETHEUS_CONTENT_TYPE)], exporter.render()).into_response()
}
