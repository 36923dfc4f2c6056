//! Runs: where they stand, how they went and why, and what people do to them.

use axum::Json;
use axum::extract::State;
use cynode_ops::runs::{Runs, Steering};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::problem::Problem;
use cynode_wire::runs::{
    AnswerRun, DecisionView, DiffQuery, DiffView, ForkRun, HistoryItem, RetryRun, RunDetail,
    RunQuery, RunView,
};
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, Params, Segment};
use crate::identity::User;

pub(crate) fn routes(runs: Runs) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(history))
        .routes(routes!(diff))
        .routes(routes!(explain))
        .with_state(runs)
}

pub(crate) fn steering_routes(steering: Steering) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(answer))
        .routes(routes!(retry))
        .routes(routes!(fork))
        .with_state(steering)
}

/// Runs of the caller's tasks, newest first; administrators see all.
#[utoipa::path(get, path = "/v1/runs", tag = "runs", params(RunQuery),
    responses((status = 200, body = Page<RunView>), (status = "4XX", body = Problem)))]
async fn list(
    State(runs): State<Runs>,
    User(caller): User,
    Params(query): Params<RunQuery>,
) -> Result<Json<Page<RunView>>, ApiError> {
    Ok(Json(runs.list(&caller, query).await?))
}

/// A run: its state, its step, who drives it, and what it waits for.
#[utoipa::path(get, path = "/v1/runs/{run}", tag = "runs",
    params(("run" = String, Path, description = "id of the run, or id or name of its task")),
    responses((status = 200, body = RunDetail), (status = "4XX", body = Problem)))]
async fn show(
    State(runs): State<Runs>,
    User(caller): User,
    Segment(run): Segment<String>,
) -> Result<Json<RunDetail>, ApiError> {
    Ok(Json(runs.show(&caller, &run).await?))
}

/// Every transition of a run with what it changed, and what people did, oldest first.
#[utoipa::path(get, path = "/v1/runs/{run}/history", tag = "runs",
    params(("run" = String, Path, description = "id of the run, or id or name of its task"), PageQuery),
    responses((status = 200, body = Page<HistoryItem>), (status = "4XX", body = Problem)))]
async fn history(
    State(runs): State<Runs>,
    User(caller): User,
    Segment(run): Segment<String>,
    Params(query): Params<PageQuery>,
) -> Result<Json<Page<HistoryItem>>, ApiError> {
    Ok(Json(runs.history(&caller, &run, &query).await?))
}

/// What is different between the states at two rows, of one run or of two.
#[utoipa::path(get, path = "/v1/runs/{run}/diff", tag = "runs",
    params(("run" = String, Path, description = "id of the run, or id or name of its task"), DiffQuery),
    responses((status = 200, body = DiffView), (status = "4XX", body = Problem)))]
async fn diff(
    State(runs): State<Runs>,
    User(caller): User,
    Segment(run): Segment<String>,
    Params(query): Params<DiffQuery>,
) -> Result<Json<DiffView>, ApiError> {
    Ok(Json(runs.diff(&caller, &run, query).await?))
}

/// Every decision of a run: what it was made from, by what, and what it led to.
#[utoipa::path(get, path = "/v1/runs/{run}/explain", tag = "runs",
    params(("run" = String, Path, description = "id of the run, or id or name of its task"), PageQuery),
    responses((status = 200, body = Page<DecisionView>), (status = "4XX", body = Problem)))]
async fn explain(
    State(runs): State<Runs>,
    User(caller): User,
    Segment(run): Segment<String>,
    Params(query): Params<PageQuery>,
) -> Result<Json<Page<DecisionView>>, ApiError> {
    Ok(Json(runs.explain(&caller, &run, &query).await?))
}

/// Pauses a run: at once, or between two nodes if a runner drives it. Pausing again changes nothing.
#[utoipa::path(post, path = "/v1/runs/{run}/pause", tag = "runs",
    params(("run" = String, Path, description = "id of the run, or id or name of its task")),
    responses((status = 200, body = RunDetail), (status = "4XX", body = Problem)))]
async fn pause(
    State(steering): State<Steering>,
    User(caller): User,
    Segment(run): Segment<String>,
) -> Result<Json<RunDetail>, ApiError> {
    Ok(Json(steering.pause(&caller, &run).await?))
}

/// Lets a paused run go on. One that is not paused stays as it is.
#[utoipa::path(post, path = "/v1/runs/{run}/resume", tag = "runs",
    params(("run" = String, Path, description = "id of the run, or id or name of its task")),
    responses((status = 200, body = RunDetail), (status = "4XX", body = Problem)))]
async fn resume(
    State(steering): State<Steering>,
    User(caller): User,
    Segment(run): Segment<String>,
) -> Result<Json<RunDetail>, ApiError> {
    Ok(Json(steering.resume(&caller, &run).await?))
}

/// Answers the question of a run, which then goes on. The same answer again changes nothing.
#[utoipa::path(post, path = "/v1/runs/{run}/answer", tag = "runs", request_body = AnswerRun,
    params(("run" = String, Path, description = "id of the run, or id or name of its task")),
    responses((status = 200, body = RunDetail), (status = "4XX", body = Problem)))]
async fn answer(
    State(steering): State<Steering>,
    User(caller): User,
    Segment(run): Segment<String>,
    Body(body): Body<AnswerRun>,
) -> Result<Json<RunDetail>, ApiError> {
    Ok(Json(steering.answer(&caller, &run, body).await?))
}

/// Goes on from a node of a run that has ended, in a new run of the same task.
#[utoipa::path(post, path = "/v1/runs/{run}/retry", tag = "runs", request_body = RetryRun,
    params(("run" = String, Path, description = "id of the run, or id or name of its task")),
    responses((status = 201, body = RunDetail), (status = "4XX", body = Problem)))]
async fn retry(
    State(steering): State<Steering>,
    User(caller): User,
    Segment(run): Segment<String>,
    Body(body): Body<RetryRun>,
) -> Result<(StatusCode, Json<RunDetail>), ApiError> {
    Ok((StatusCode::CREATED, Json(steering.retry(&caller, &run, body).await?)))
}

/// Goes on from a row of a run in a new task.
#[utoipa::path(post, path = "/v1/runs/{run}/fork", tag = "runs", request_body = ForkRun,
    params(("run" = String, Path, description = "id of the run, or id or name of its task")),
    responses((status = 201, body = RunDetail), (status = "4XX", body = Problem)))]
async fn fork(
    State(steering): State<Steering>,
    User(caller): User,
    Segment(run): Segment<String>,
    Body(body): Body<ForkRun>,
) -> Result<(StatusCode, Json<RunDetail>), ApiError> {
    Ok((StatusCode::CREATED, Json(steering.fork(&caller, &run, body).await?)))
}
