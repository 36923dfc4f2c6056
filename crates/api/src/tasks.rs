//! Tasks.

use axum::Json;
use axum::extract::{DefaultBodyLimit, State};
use cynode_ops::Tasks;
use cynode_ops::runs::Voice;
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
use crate::extract::{Body, Params, Segment};
use crate::identity::User;

/// Attachments travel inside the body, as base64.
const MAX_CREATE_BYTES: usize = 64 * 1024 * 1024;

pub(crate) fn routes(tasks: Tasks) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(create, list).layer(DefaultBodyLimit::max(MAX_CREATE_BYTES)))
        .routes(routes!(get, update))
        .routes(routes!(result))
        .routes(routes!(logs))
        .routes(routes!(history))
        .routes(routes!(cancel))
        .routes(routes!(depend))
        .with_state(tasks)
}

/// Creates a task; a runner takes it as soon as everything it depends on has completed.
#[utoipa::path(post, path = "/v1/tasks", tag = "tasks", request_body = CreateTask,
    responses((status = 201, body = TaskView), (status = "4XX", body = Problem)))]
async fn create(
    State(tasks): State<Tasks>,
    User(caller): User,
    Body(body): Body<CreateTask>,
) -> Result<(StatusCode, Json<TaskView>), ApiError> {
    Ok((StatusCode::CREATED, Json(tasks.create(&caller, body).await?)))
}

/// The caller's tasks, newest first; administrators see all.
#[utoipa::path(get, path = "/v1/tasks", tag = "tasks", params(TaskQuery),
    responses((status = 200, body = Page<TaskView>), (status = "4XX", body = Problem)))]
async fn list(
    State(tasks): State<Tasks>,
    User(caller): User,
    Params(query): Params<TaskQuery>,
) -> Result<Json<Page<TaskView>>, ApiError> {
    Ok(Json(tasks.list(&caller, query).await?))
}

/// A task, by id or name.
#[utoipa::path(get, path = "/v1/tasks/{task}", tag = "tasks",
    params(("task" = String, Path, description = "id or name")),
    responses((status = 200, body = TaskView), (status = "4XX", body = Problem)))]
async fn get(
    State(tasks): State<Tasks>,
    User(caller): User,
    Segment(task): Segment<String>,
) -> Result<Json<TaskView>, ApiError> {
    Ok(Json(tasks.get(&caller, &task).await?))
}

/// Changes the name or the acceptance criteria of an open task. 409: somebody else has changed it, or the
/// result of its last step is being judged.
#[utoipa::path(patch, path = "/v1/tasks/{task}", tag = "tasks", request_body = UpdateTask,
    params(("task" = String, Path, description = "id or name")),
    responses((status = 200, body = TaskView), (status = "4XX", body = Problem)))]
async fn update(
    State(tasks): State<Tasks>,
    User(caller): User,
    Segment(task): Segment<String>,
    Body(body): Body<UpdateTask>,
) -> Result<Json<TaskView>, ApiError> {
    Ok(Json(tasks.update(&caller, &task, body, Voice::Person).await?))
}

/// What came of a task, job by job.
#[utoipa::path(get, path = "/v1/tasks/{task}/result", tag = "tasks",
    params(("task" = String, Path, description = "id or name")),
    responses((status = 200, body = ResultView), (status = "4XX", body = Problem)))]
async fn result(
    State(tasks): State<Tasks>,
    User(caller): User,
    Segment(task): Segment<String>,
) -> Result<Json<ResultView>, ApiError> {
    Ok(Json(tasks.result(&caller, &task).await?))
}

/// The output of a task so far.
#[utoipa::path(get, path = "/v1/tasks/{task}/logs", tag = "tasks",
    params(("task" = String, Path, description = "id or name"), LogQuery),
    responses((status = 200, body = LogsView), (status = "4XX", body = Problem)))]
async fn logs(
    State(tasks): State<Tasks>,
    User(caller): User,
    Segment(task): Segment<String>,
    Params(query): Params<LogQuery>,
) -> Result<Json<LogsView>, ApiError> {
    Ok(Json(tasks.logs(&caller, &task, &query).await?))
}

/// Every transition of the task's newest run, oldest first.
#[utoipa::path(get, path = "/v1/tasks/{task}/history", tag = "tasks",
    params(("task" = String, Path, description = "id or name")),
    responses((status = 200, body = Vec<TransitionView>), (status = "4XX", body = Problem)))]
async fn history(
    State(tasks): State<Tasks>,
    User(caller): User,
    Segment(task): Segment<String>,
) -> Result<Json<Vec<TransitionView>>, ApiError> {
    Ok(Json(tasks.history(&caller, &task).await?))
}

/// Cancels a task and every open task that waits for it.
#[utoipa::path(post, path = "/v1/tasks/{task}/cancel", tag = "tasks",
    params(("task" = String, Path, description = "id or name")),
    responses((status = 200, body = CanceledView), (status = "4XX", body = Problem)))]
async fn cancel(
    State(tasks): State<Tasks>,
    User(caller): User,
    Segment(task): Segment<String>,
) -> Result<Json<CanceledView>, ApiError> {
    Ok(Json(tasks.cancel(&caller, &task).await?))
}

/// Makes a queued task wait for another one.
#[utoipa::path(post, path = "/v1/tasks/{task}/dependencies", tag = "tasks", request_body = AddDependency,
    params(("task" = String, Path, description = "id or name")),
    responses((status = 200, body = TaskView), (status = "4XX", body = Problem)))]
async fn depend(
    State(tasks): State<Tasks>,
    User(caller): User,
    Segment(task): Segment<String>,
    Body(body): Body<AddDependency>,
) -> Result<Json<TaskView>, ApiError> {
    Ok(Json(tasks.depend(&caller, &task, body).await?))
}
