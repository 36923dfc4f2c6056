//! Forges of projects' repositories, issues as requests, and deliveries of webhooks.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use cynode_domain::ids::{ForgeId, ProjectId};
use cynode_domain::name_or_id::NameOrId;
use cynode_requests::{ForgeService, RequestService};
use cynode_wire::forges::{ForgeView, SetForge, SubmitIssue};
use cynode_wire::problem::Problem;
use cynode_wire::requests::RequestView;
use http::{HeaderMap, StatusCode};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(set, list))
        .routes(routes!(remove))
        .routes(routes!(submit_issue))
}

/// Routes for forges: a delivery is authenticated by its signature.
pub(crate) fn open_routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(receive_webhook))
}

/// Sets the forge of a repository: its API, its token, its webhook. Secrets are encrypted and never returned.
#[utoipa::path(put, path = "/v1/projects/{project}/forges", tag = "forges", request_body = SetForge,
    params(("project" = String, Path, description = "id or slug")),
    responses((status = 200, body = ForgeView), (status = "4XX", body = Problem)))]
async fn set(
    State(forges): State<ForgeService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(project): PathSegment<NameOrId<ProjectId>>,
    JsonBody(body): JsonBody<SetForge>,
) -> Result<Json<ForgeView>, ApiError> {
    Ok(Json(forges.set(&caller, &project, body).await?))
}

/// Lists the forges of a project, without their secrets.
#[utoipa::path(get, path = "/v1/projects/{project}/forges", tag = "forges",
    params(("project" = String, Path, description = "id or slug")),
    responses((status = 200, body = Vec<ForgeView>), (status = "4XX", body = Problem)))]
async fn list(
    State(forges): State<ForgeService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(project): PathSegment<NameOrId<ProjectId>>,
) -> Result<Json<Vec<ForgeView>>, ApiError> {
    Ok(Json(forges.list(&caller, &project).await?))
}

/// Removes a forge and its secrets.
#[utoipa::path(delete, path = "/v1/forges/{forge}", tag = "forges", params(("forge" = ForgeId, Path)),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(forges): State<ForgeService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(forge): PathSegment<ForgeId>,
) -> Result<StatusCode, ApiError> {
    forges.remove(&caller, forge).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Submits an issue of a forge of the project: its title and text become a request.
#[utoipa::path(post, path = "/v1/issues", tag = "requests", request_body = SubmitIssue,
    responses((status = 201, body = RequestView), (status = "4XX", body = Problem)))]
async fn submit_issue(
    State(requests): State<RequestService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<SubmitIssue>,
) -> Result<(StatusCode, Json<RequestView>), ApiError> {
    Ok((StatusCode::CREATED, Json(requests.submit_issue(&caller, body).await?)))
}

/// Receives a delivery of the webhook of a forge. Every delivery that is not accepted gets the same answer.
#[utoipa::path(post, path = "/v1/forges/{forge}/webhook", tag = "forges", security(()),
    params(("forge" = ForgeId, Path)), request_body = Object,
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn receive_webhook(
    State(requests): State<RequestService>,
    PathSegment(forge): PathSegment<ForgeId>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, ApiError> {
    let outcome = requests.receive_webhook(forge, &headers, &body).await?;
    tracing::debug!(forge.id = %forge, ?outcome, "webhook received");
    Ok(StatusCode::NO_CONTENT)
}
