//! Runs: state, history, decisions, and control.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::{RunId, TraceId};
use cynode_domain::name_or_id::NameOrId;
use cynode_runs::{RunOperations, RunQueries};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::problem::Problem;
use cynode_wire::runs::{
    AnswerRun, DecisionView, DiffQuery, DiffView, ForkRun, HistoryItem, RetryRun, RunDetail,
    RunQuery, RunView,
};
use cynode_wire::traces::{TraceListQuery, TraceQuery, TraceSummary, TraceView};
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(history))
        .routes(routes!(diff))
        .routes(routes!(explain))
        .routes(routes!(list_traces))
        .routes(routes!(show_trace))
}

pub(crate) fn steering_routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(answer))
        .routes(routes!(retry))
        .routes(routes!(fork))
}

/// Lists the runs of the caller's tasks, newest first; administrators see all.
#[utoipa::path(get, path = "/v1/runs", tag = "runs", params(RunQuery),
    responses((status = 200, body = Page<RunView>), (status = "4XX", body = Problem)))]
async fn list(
    State(runs): State<RunQueries>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<RunQuery>,
) -> Result<Json<Page<RunView>>, ApiError> {
    Ok(Json(runs.list(&caller, query).await?))
}

/// Returns a run: its state, step, runner, and what it waits for.
#[utoipa::path(get, path = "/v1/runs/{run}", tag = "runs",
    params(("run" = String, Path, description = "id of the run, or id or name of its task")),
    responses((status = 200, body = RunDetail), (status = "4XX", body = Problem)))]
async fn show(
    State(runs): State<RunQueries>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(run): PathSegment<NameOrId<RunId>>,
) -> Result<Json<RunDetail>, ApiError> {
    Ok(Json(runs.get_detail(&caller, &run).await?))
}

/// Lists the transitions of a run with their changes, and the actions of people, oldest first.
#[utoipa::path(get, path = "/v1/runs/{run}/history", tag = "runs",
    params(("run" = String, Path, description = "id of the run, or id or name of its task"), PageQuery),
    responses((status = 200, body = Page<HistoryItem>), (status = "4XX", body = Problem)))]
async fn history(
    State(runs): State<RunQueries>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(run): PathSegment<NameOrId<RunId>>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<HistoryItem>>, ApiError> {
    Ok(Json(runs.history(&caller, &run, &query).await?))
}

/// Compares the states at two history rows, of one run or of two.
#[utoipa::path(get, path = "/v1/runs/{run}/diff", tag = "runs",
    params(("run" = String, Path, description = "id of the run, or id or name of its task"), DiffQuery),
    responses((status = 200, body = DiffView), (status = "4XX", body = Problem)))]
async fn diff(
    State(runs): State<RunQueries>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(run): PathSegment<NameOrId<RunId>>,
    QueryParams(query): QueryParams<DiffQuery>,
) -> Result<Json<DiffView>, ApiError> {
    Ok(Json(runs.diff(&caller, &run, query).await?))
}

/// Lists the decisions of a run: their inputs, who decided, and their consequences.
#[utoipa::path(get, path = "/v1/runs/{run}/explain", tag = "runs",
    params(("run" = String, Path, description = "id of the run, or id or name of its task"), PageQuery),
    responses((status = 200, body = Page<DecisionView>), (status = "4XX", body = Problem)))]
async fn explain(
    State(runs): State<RunQueries>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(run): PathSegment<NameOrId<RunId>>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<DecisionView>>, ApiError> {
    Ok(Json(runs.explain(&caller, &run, &query).await?))
}

/// Lists the traces of the caller's tasks, the one with the newest run first; administrators see all.
#[utoipa::path(get, path = "/v1/traces", tag = "traces", params(TraceListQuery),
    responses((status = 200, body = Page<TraceSummary>), (status = "4XX", body = Problem)))]
async fn list_traces(
    State(runs): State<RunQueries>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<TraceListQuery>,
) -> Result<Json<Page<TraceSummary>>, ApiError> {
    Ok(Json(runs.list_traces(&caller, query).await?))
}

/// Returns a trace: one request from its start to its end, with the times and the cost of its spans.
#[utoipa::path(get, path = "/v1/traces/{trace}", tag = "traces",
    params(("trace" = TraceId, Path, description = "id of the trace"), TraceQuery),
    responses((status = 200, body = TraceView), (status = "4XX", body = Problem)))]
async fn show_trace(
    State(runs): State<RunQueries>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(trace): PathSegment<TraceId>,
    QueryParams(query): QueryParams<TraceQuery>,
) -> Result<Json<TraceView>, ApiError> {
    Ok(Json(runs.get_trace(&caller, trace, query).await?))
}

/// Pauses a run: immediately, or after the current workflow node if a runner holds it. Idempotent.
#[utoipa::path(post, path = "/v1/runs/{run}/pause", tag = "runs",
    params(("run" = String, Path, description = "id of the run, or id or name of its task")),
    responses((status = 200, body = RunDetail), (status = "4XX", body = Problem)))]
async fn pause(
    State(steering): State<RunOperations>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(run): PathSegment<NameOrId<RunId>>,
) -> Result<Json<RunDetail>, ApiError> {
    Ok(Json(steering.pause(&caller, &run).await?))
}

/// Resumes a paused run. No effect if the run is not paused.
#[utoipa::path(post, path = "/v1/runs/{run}/resume", tag = "runs",
    params(("run" = String, Path, description = "id of the run, or id or name of its task")),
    responses((status = 200, body = RunDetail), (status = "4XX", body = Problem)))]
async fn resume(
    State(steering): State<RunOperations>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(run): PathSegment<NameOrId<RunId>>,
) -> Result<Json<RunDetail>, ApiError> {
    Ok(Json(steering.resume(&caller, &run).await?))
}

/// Answers the question of a run, which then resumes. Idempotent.
#[utoipa::path(post, path = "/v1/runs/{run}/answer", tag = "runs", request_body = AnswerRun,
    params(("run" = String, Path, description = "id of the run, or id or name of its task")),
    responses((status = 200, body = RunDetail), (status = "4XX", body = Problem)))]
async fn answer(
    State(steering): State<RunOperations>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(run): PathSegment<NameOrId<RunId>>,
    JsonBody(body): JsonBody<AnswerRun>,
) -> Result<Json<RunDetail>, ApiError> {
    Ok(Json(steering.answer(&caller, &run, body).await?))
}

/// Retries an ended run from one of its workflow nodes, in a new run of the same task.
#[utoipa::path(post, path = "/v1/runs/{run}/retry", tag = "runs", request_body = RetryRun,
    params(("run" = String, Path, description = "id of the run, or id or name of its task")),
    responses((status = 201, body = RunDetail), (status = "4XX", body = Problem)))]
async fn retry(
    State(steering): State<RunOperations>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(run): PathSegment<NameOrId<RunId>>,
    JsonBody(body): JsonBody<RetryRun>,
) -> Result<(StatusCode, Json<RunDetail>), ApiError> {
    Ok((StatusCode::CREATED, Json(steering.retry(&caller, &run, body).await?)))
}

/// Forks a run: continues from one of its history rows in a new task.
#[utoipa::path(post, path = "/v1/runs/{run}/fork", tag = "runs", request_body = ForkRun,
    params(("run" = String, Path, description = "id of the run, or id or name of its task")),
    responses((status = 201, body = RunDetail), (status = "4XX", body = Problem)))]
async fn fork(
    State(steering): State<RunOperations>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(run): PathSegment<NameOrId<RunId>>,
    JsonBody(body): JsonBody<ForkRun>,
) -> Result<(StatusCode, Json<RunDetail>), ApiError> {
    Ok((StatusCode::CREATED, Json(steering.fork(&caller, &run, body).await?)))
}
