//! Pushes of the changes of tasks.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_execution::{ArtifactService, TaskService};
use cynode_wire::git::PushTask;
use cynode_wire::problem::Problem;
use cynode_wire::tasks::TaskView;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(push))
}

/// Pushes the newest changes of a task to a branch of its repository, as a new task that a worker node executes. 409:
/// a finding forbids it. Findings that need a review make the new task wait for an approval.
#[utoipa::path(post, path = "/v1/tasks/{task}/push", tag = "tasks", request_body = PushTask,
    params(("task" = String, Path, description = "id or name")),
    responses((status = 201, body = TaskView), (status = "4XX", body = Problem)))]
async fn push(
    State(tasks): State<TaskService>,
    State(artifacts): State<ArtifactService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(task): PathSegment<NameOrId<TaskId>>,
    JsonBody(body): JsonBody<PushTask>,
) -> Result<(StatusCode, Json<TaskView>), ApiError> {
    Ok((StatusCode::CREATED, Json(tasks.push(&artifacts, &caller, &task, body).await?)))
}
