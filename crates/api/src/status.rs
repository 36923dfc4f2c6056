//! Health, readiness, metrics and status.

use axum::extract::State;
use axum::response::{Html, IntoResponse, Response};
use axum::{Json, Router};
use cynode_domain::status::TaskStatus;
use cynode_execution::{NodeService, TaskService, WorkflowService};
use cynode_ops::StorageHealth;
use cynode_ops::chat::Chat;
use cynode_requests::RequestService;
use cynode_resources::QuarantinedRow;
use cynode_runtime::metrics::MetricsExporter;
use cynode_wire::health::{QuarantinedRowView, ReadyView, StatusView};
use cynode_wire::problem::Problem;
use http::header::{ACCEPT, CONTENT_SECURITY_POLICY};
use http::{HeaderMap, StatusCode};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

const HOME_TEXT: &str = "\
This is a CyNode orchestrator.
The web console is at /console/, the API is described at /v1/openapi.json, and `cynork` is its command-line client.
";

const HOME_PAGE: &str = "\
<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>CyNode</title>
<h1>CyNode</h1>
<p>This is a CyNode orchestrator.</p>
<ul>
<li><a href=\"/console/\">Web console</a></li>
<li><a href=\"/v1/openapi.json\">Description of the API</a> (OpenAPI)</li>
</ul>
</html>
";

/// Limit of quarantined rows listed in a status.
const QUARANTINED_SHOWN: u32 = 20;

/// Services behind the health and status routes.
#[derive(Clone)]
pub(crate) struct StatusServices {
    pub(crate) tasks: TaskService,
    pub(crate) nodes: NodeService,
    pub(crate) workflow: WorkflowService,
    pub(crate) chat: Chat,
    pub(crate) health: StorageHealth,
    pub(crate) requests: RequestService,
    pub(crate) database: &'static str,
    pub(crate) version: &'static str,
    pub(crate) exporter: Option<MetricsExporter>,
}

/// Routes that need no token.
pub(crate) fn open_routes() -> Router<ApiState> {
    Router::new()
        .route("/", axum::routing::get(home))
        .route("/healthz", axum::routing::get(|| async { "ok" }))
        .route("/readyz", axum::routing::get(ready))
        .route("/metrics", axum::routing::get(metrics))
}

/// Routes for signed-in users.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(status))
}

impl StatusServices {
    async fn not_ready_reasons(&self) -> Vec<String> {
        let mut reasons = vec![];
        match self.nodes.count_active().await {
            Ok(0) => reasons.push("no worker node is connected: start `cynode-node`".to_owned()),
            Ok(_) => {}
            Err(_) => reasons.push("the database is unavailable".to_owned()),
        }
        reasons.extend(self.health.check_writable().await);
        if !self.workflow.has_runner() {
            reasons.push("no workflow runner is connected: start `cynode-runner`".to_owned());
        }
        reasons
    }

    async fn warnings(&self) -> Vec<String> {
        let number = self.quarantined_rows().await;
        let rows = if number == 1 { "row" } else { "rows" };
        let quarantined = format!(
            "{number} quarantined {rows} cannot be read and are skipped: run `cynork status`"
        );
        let mut warnings = vec![];
        if number > 0 {
            warnings.push(quarantined);
        }
        // Everything but requests works, and the setting is corrected over this API.
        let fault = self.requests.configuration_fault().await;
        warnings.extend(fault.map(|fault| format!("requests are not planned: {fault}")));
        warnings
    }

    /// The number of quarantined rows; 0 if the database is unavailable, which is reported elsewhere.
    async fn quarantined_rows(&self) -> i64 {
        self.health.load_quarantine(0).await.map_or(0, |quarantined| quarantined.count)
    }
}

fn row_view(row: QuarantinedRow) -> QuarantinedRowView {
    let QuarantinedRow { table, key, reason, first_seen_at } = row;
    QuarantinedRowView { table, key, reason, first_seen_at }
}

/// The home page: HTML with links for browsers, plain text for other clients.
async fn home(headers: HeaderMap) -> Response {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let is_browser = accepted.flat_map(|value| value.split(',')).any(|kind| {
        kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("text/html"))
    });
    if !is_browser {
        return HOME_TEXT.into_response();
    }
    let policy = [(CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'")];
    (policy, Html(HOME_PAGE)).into_response()
}

async fn ready(State(overview): State<StatusServices>) -> Response {
    let reasons = overview.not_ready_reasons().await;
    let warnings = overview.warnings().await;
    let view = ReadyView { ready: reasons.is_empty(), reasons, warnings };
    let status = if view.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(view)).into_response()
}

async fn metrics(State(overview): State<StatusServices>) -> String {
    #[expect(clippy::cast_precision_loss, reason = "the count is far below 2^52")]
    metrics::gauge!("cynode_quarantined_rows").set(overview.quarantined_rows().await as f64);
    overview.exporter.map(|exporter| exporter.render()).unwrap_or_default()
}

/// Returns version, readiness and activity.
#[utoipa::path(get, path = "/v1/status", tag = "status",
    responses((status = 200, body = StatusView), (status = "4XX", body = Problem)))]
async fn status(
    State(overview): State<StatusServices>,
    AuthenticatedUser(caller): AuthenticatedUser,
) -> Result<Json<StatusView>, ApiError> {
    // A reason may quote row data.
    let shown = if caller.is_admin { QUARANTINED_SHOWN } else { 0 };
    let quarantined = overview.health.load_quarantine(shown).await?;
    let reasons = overview.not_ready_reasons().await;
    Ok(Json(StatusView {
        version: overview.version.to_owned(),
        database: overview.database.to_owned(),
        ready: reasons.is_empty(),
        reasons,
        active_nodes: overview.nodes.count_active().await?,
        queued_tasks: overview.tasks.count(TaskStatus::Pending).await?,
        running_tasks: overview.tasks.count(TaskStatus::Running).await?,
        project_manager: overview.chat.manager_status().await,
        quarantined_rows: quarantined.count,
        quarantined: quarantined.rows.into_iter().map(row_view).collect(),
    }))
}
