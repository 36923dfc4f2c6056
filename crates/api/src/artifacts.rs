//! Files of a task, for users.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_execution::ArtifactService;
use cynode_execution::artifacts::DiffScope;
use cynode_wire::artifacts::{
    ArtifactKind, ArtifactView, DeleteArtifacts, DeletedArtifactsView, StorageView,
};
use cynode_wire::git::{DiffQuery, MAX_DIFF_PATCH_BYTES, TaskDiffView};
use cynode_wire::problem::Problem;
use http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(content))
        .routes(routes!(delete))
        .routes(routes!(usage))
        .routes(routes!(diff))
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FileQuery {
    /// Path of the file.
    pub(crate) path: String,
}

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ContentQuery {
    /// Path of the file.
    path: String,
    /// Kind of the file; when absent: changes, else the output, else the attachment at that path.
    #[param(inline)]
    kind: Option<ArtifactKind>,
}

/// Lists the files of a task.
#[utoipa::path(get, path = "/v1/tasks/{task}/artifacts", tag = "artifacts",
    params(("task" = String, Path, description = "id or name")),
    responses((status = 200, body = Vec<ArtifactView>), (status = "4XX", body = Problem)))]
async fn list(
    State(artifacts): State<ArtifactService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(task): PathSegment<NameOrId<TaskId>>,
) -> Result<Json<Vec<ArtifactView>>, ApiError> {
    Ok(Json(artifacts.list(&caller, &task).await?))
}

/// Downloads a file. It is sent as an attachment, never inline, because jobs wrote it.
#[utoipa::path(get, path = "/v1/tasks/{task}/artifacts/content", tag = "artifacts",
    params(("task" = String, Path, description = "id or name"), ContentQuery),
    responses((status = 200, content_type = "application/octet-stream"), (status = "4XX", body = Problem)))]
async fn content(
    State(artifacts): State<ArtifactService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(task): PathSegment<NameOrId<TaskId>>,
    QueryParams(query): QueryParams<ContentQuery>,
) -> Result<Response, ApiError> {
    let (artifact, file) = artifacts.open(&caller, &task, query.kind, &query.path).await?;
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (CONTENT_LENGTH, artifact.size_bytes.to_string()),
        (CONTENT_DISPOSITION, "attachment".to_owned()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ];
    Ok((headers, Body::from_stream(file)).into_response())
}

/// Deletes files of a closed task, with the versions of earlier jobs: all of them, or those at the paths. The task itself
/// stays. If attachments were deleted, its run cannot be retried or forked; earlier forks keep their own.
#[utoipa::path(post, path = "/v1/tasks/{task}/artifacts/delete", tag = "artifacts",
    params(("task" = String, Path, description = "id or name")), request_body = DeleteArtifacts,
    responses((status = 200, body = DeletedArtifactsView), (status = "4XX", body = Problem)))]
async fn delete(
    State(artifacts): State<ArtifactService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(task): PathSegment<NameOrId<TaskId>>,
    JsonBody(body): JsonBody<DeleteArtifacts>,
) -> Result<Json<DeletedArtifactsView>, ApiError> {
    Ok(Json(artifacts.delete(&caller, &task, body).await?))
}

/// Returns the bytes that the caller's files take, and the limits.
#[utoipa::path(get, path = "/v1/storage", tag = "artifacts",
    responses((status = 200, body = StorageView), (status = "4XX", body = Problem)))]
async fn usage(
    State(artifacts): State<ArtifactService>,
    AuthenticatedUser(caller): AuthenticatedUser,
) -> Result<Json<StorageView>, ApiError> {
    Ok(Json(artifacts.usage(&caller).await?))
}

/// Returns the newest changes of a task in its repository. 404: the task has no repository, or no changes yet.
#[utoipa::path(get, path = "/v1/tasks/{task}/diff", tag = "artifacts",
    params(("task" = String, Path, description = "id or name"), DiffQuery),
    responses((status = 200, body = TaskDiffView), (status = "4XX", body = Problem)))]
async fn diff(
    State(artifacts): State<ArtifactService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(task): PathSegment<NameOrId<TaskId>>,
    QueryParams(query): QueryParams<DiffQuery>,
) -> Result<Json<TaskDiffView>, ApiError> {
    let scope = if query.all { DiffScope::All } else { DiffScope::Own };
    Ok(Json(artifacts.diff(&caller, &task, scope, MAX_DIFF_PATCH_BYTES).await?))
}
