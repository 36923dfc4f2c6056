//! Health, readiness, metrics and what people see of the whole.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use cynode_domain::status::TaskStatus;
use cynode_ops::chat::Chat;
use cynode_ops::{Nodes, Tasks, Workflow};
use cynode_runtime::metrics::Exporter;
use cynode_wire::health::{ReadyView, StatusView};
use cynode_wire::problem::Problem;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::identity::User;

/// What health and status look at.
#[derive(Clone)]
pub(crate) struct Overview {
    pub(crate) tasks: Tasks,
    pub(crate) nodes: Nodes,
    pub(crate) workflow: Workflow,
    pub(crate) chat: Chat,
    pub(crate) database: &'static str,
    pub(crate) version: &'static str,
    pub(crate) exporter: Option<Exporter>,
}

/// Routes that need no token.
pub(crate) fn open_routes(overview: Overview) -> Router {
    Router::new()
        .route("/", axum::routing::get(home))
        .route("/healthz", axum::routing::get(|| async { "ok" }))
        .route("/readyz", axum::routing::get(ready))
        .route("/metrics", axum::routing::get(metrics))
        .with_state(overview)
}

/// Routes for signed-in users.
pub(crate) fn routes(overview: Overview) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(status)).with_state(overview)
}

impl Overview {
    async fn reasons(&self) -> Vec<String> {
        let mut reasons = vec![];
        match self.nodes.count_active().await {
            Ok(0) => reasons.push("no worker node is connected: start `cynode-node`".to_owned()),
            Ok(_) => {}
            Err(_) => reasons.push("the database does not answer".to_owned()),
        }
        if !self.workflow.has_runner() {
            reasons.push("no workflow runner is connected: start `cynode-runner`".to_owned());
        }
        reasons
    }
}

async fn home() -> &'static str {
    "This is a CyNode orchestrator.\nThe API is described at /v1/openapi.json; `cynork` speaks it.\n"
}

async fn ready(State(overview): State<Overview>) -> Response {
    let reasons = overview.reasons().await;
    let view = ReadyView { ready: reasons.is_empty(), reasons };
    let status = if view.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(view)).into_response()
}

async fn metrics(State(overview): State<Overview>) -> String {
    overview.exporter.map(|exporter| exporter.render()).unwrap_or_default()
}

/// Version, readiness and what is going on.
#[utoipa::path(get, path = "/v1/status", tag = "status",
    responses((status = 200, body = StatusView), (status = "4XX", body = Problem)))]
async fn status(State(overview): State<Overview>, _: User) -> Result<Json<StatusView>, ApiError> {
    let reasons = overview.reasons().await;
    Ok(Json(StatusView {
        version: overview.version.to_owned(),
        database: overview.database.to_owned(),
        ready: reasons.is_empty(),
        reasons,
        active_nodes: overview.nodes.count_active().await?,
        queued_tasks: overview.tasks.count(TaskStatus::Pending).await?,
        running_tasks: overview.tasks.count(TaskStatus::Running).await?,
        project_manager: overview.chat.manager_status().await,
    }))
}
