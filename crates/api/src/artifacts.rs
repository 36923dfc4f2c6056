//! Files of a task, for people.

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use cynode_ops::Artifacts;
use cynode_wire::artifacts::ArtifactView;
use cynode_wire::problem::Problem;
use http::header::{CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Params, Segment};
use crate::identity::User;

pub(crate) fn routes(artifacts: Artifacts) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(content)).with_state(artifacts)
}

/// Which file is meant.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FileQuery {
    /// The path of the file.
    pub(crate) path: String,
}

/// Every file of a task.
#[utoipa::path(get, path = "/v1/tasks/{task}/artifacts", tag = "artifacts",
    params(("task" = String, Path, description = "id or name")),
    responses((status = 200, body = Vec<ArtifactView>), (status = "4XX", body = Problem)))]
async fn list(
    State(artifacts): State<Artifacts>,
    User(caller): User,
    Segment(task): Segment<String>,
) -> Result<Json<Vec<ArtifactView>>, ApiError> {
    Ok(Json(artifacts.list(&caller, &task).await?))
}

/// The content of a file. It is sent as a download, never to be shown in place: jobs wrote it.
#[utoipa::path(get, path = "/v1/tasks/{task}/artifacts/content", tag = "artifacts",
    params(("task" = String, Path, description = "id or name"), FileQuery),
    responses((status = 200, content_type = "application/octet-stream"), (status = "4XX", body = Problem)))]
async fn content(
    State(artifacts): State<Artifacts>,
    User(caller): User,
    Segment(task): Segment<String>,
    Params(query): Params<FileQuery>,
) -> Result<Response, ApiError> {
    let (artifact, file) = artifacts.open(&caller, &task, &query.path).await?;
    let headers = [
        (CONTENT_TYPE, "application/octet-stream".to_owned()),
        (CONTENT_LENGTH, artifact.size_bytes.to_string()),
        (CONTENT_DISPOSITION, "attachment".to_owned()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ];
    Ok((headers, Body::from_stream(file)).into_response())
}
