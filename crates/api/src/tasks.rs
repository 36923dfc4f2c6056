//! Tasks.

use axum::Json;
use axum::extract::{DefaultBodyLimit, State};
use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_execution::TaskService;
use cynode_resources::ActorKind;
use cynode_wire::page::Page;
use cynode_wire::problem::Problem;
use cynode_wire::tasks::{
    AddDependency, CanceledView, CreateTask, LogQuery, LogsView, ResultView, TaskQuery, TaskView,
    TransitionView, UpdateTask,
};
use http::StatusCode;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

/// The body contains the attachments, base64-encoded.
const MAX_CREATE_BYTES: usize = 64 * 1024 * 1024;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(create, list).layer(DefaultBodyLimit::max(MAX_CREATE_BYTES)))
        .routes(routes!(get, update))
        .routes(routes!(result))
        .routes(routes!(logs))
        .routes(routes!(history))
        .routes(routes!(cancel))
        .routes(routes!(depend))
}

/// Creates a task. A runner claims it once its dependencies have completed.
#[utoipa::path(post, path = "/v1/tasks", tag = "tasks", request_body = CreateTask,
    responses((status = 201, body = TaskView), (status = "4XX", body = Problem)))]
async fn create(
    State(tasks): State<TaskService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<CreateTask>,
) -> Result<(StatusCode, Json<TaskView>), ApiError> {
    Ok((StatusCode::CREATED, Json(tasks.create(&caller, body).await?)))
}

/// Lists the caller's tasks, newest first; administrators see all.
#[utoipa::path(get, path = "/v1/tasks", tag = "tasks", params(TaskQuery),
    responses((status = 200, body = Page<TaskView>), (status = "4XX", body = Problem)))]
async fn list(
    State(tasks): State<TaskService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<TaskQuery>,
) -> Result<Json<Page<TaskView>>, ApiError> {
    Ok(Json(tasks.list(&caller, query).await?))
}

/// Returns a task by id or name.
#[utoipa::path(get, path = "/v1/tasks/{task}", tag = "tasks",
    params(("task" = String, Path, description = "id or name")),
    responses((status = 200, body = TaskView), (status = "4XX", body = Problem)))]
async fn get(
    State(tasks): State<TaskService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(task): PathSegment<NameOrId<TaskId>>,
) -> Result<Json<TaskView>, ApiError> {
    Ok(Json(tasks.get(&caller, &task).await?))
}

/// Changes the name or the acceptance criteria of an open task. 409: the task was changed concurrently, or the
/// result of its last step is being verified.
#[utoipa::path(patch, path = "/v1/tasks/{task}", tag = "tasks", request_body = UpdateTask,
    params(("task" = String, Path, description = "id or name")),
    responses((status = 200, body = TaskView), (status = "4XX", body = Problem)))]
async fn update(
    State(tasks): State<TaskService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(task): PathSegment<NameOrId<TaskId>>,
    JsonBody(body): JsonBody<UpdateTask>,
) -> Result<Json<TaskView>, ApiError> {
    Ok(Json(tasks.update(&caller, &task, body, ActorKind::Person).await?))
}

/// Returns the result of a task, job by job.
#[utoipa::path(get, path = "/v1/tasks/{task}/result", tag = "tasks",
    params(("task" = String, Path, description = "id or name")),
    responses((status = 200, body = ResultView), (status = "4XX", body = Problem)))]
async fn result(
    State(tasks): State<TaskService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(task): PathSegment<NameOrId<TaskId>>,
) -> Result<Json<ResultView>, ApiError> {
    Ok(Json(tasks.result(&caller, &task).await?))
}

/// Returns the output of a task so far.
#[utoipa::path(get, path = "/v1/tasks/{task}/logs", tag = "tasks",
    params(("task" = String, Path, description = "id or name"), LogQuery),
    responses((status = 200, body = LogsView), (status = "4XX", body = Problem)))]
async fn logs(
    State(tasks): State<TaskService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(task): PathSegment<NameOrId<TaskId>>,
    QueryParams(query): QueryParams<LogQuery>,
) -> Result<Json<LogsView>, ApiError> {
    Ok(Json(tasks.logs(&caller, &task, &query).await?))
}

/// Lists the transitions of the task's newest run, oldest first.
#[utoipa::path(get, path = "/v1/tasks/{task}/history", tag = "tasks",
    params(("task" = String, Path, description = "id or name")),
    responses((status = 200, body = Vec<TransitionView>), (status = "4XX", body = Problem)))]
async fn history(
    State(tasks): State<TaskService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(task): PathSegment<NameOrId<TaskId>>,
) -> Result<Json<Vec<TransitionView>>, ApiError> {
    Ok(Json(tasks.history(&caller, &task).await?))
}

/// Cancels a task and every open task that depends on it.
#[utoipa::path(post, path = "/v1/tasks/{task}/cancel", tag = "tasks",
    params(("task" = String, Path, description = "id or name")),
    responses((status = 200, body = CanceledView), (status = "4XX", body = Problem)))]
async fn cancel(
    State(tasks): State<TaskService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(task): PathSegment<NameOrId<TaskId>>,
) -> Result<Json<CanceledView>, ApiError> {
    Ok(Json(tasks.cancel(&caller, &task).await?))
}

/// Adds a dependency to a queued task.
#[utoipa::path(post, path = "/v1/tasks/{task}/dependencies", tag = "tasks", request_body = AddDependency,
    params(("task" = String, Path, description = "id or name")),
    responses((status = 200, body = TaskView), (status = "4XX", body = Problem)))]
async fn depend(
    State(tasks): State<TaskService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(task): PathSegment<NameOrId<TaskId>>,
    JsonBody(body): JsonBody<AddDependency>,
) -> Result<Json<TaskView>, ApiError> {
    Ok(Json(tasks.add_dependency(&caller, &task, body).await?))
}
