//! Profiles of projects: what their agents may use.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::{ProfileId, ProjectId};
use cynode_domain::name_or_id::NameOrId;
use cynode_resources::profiles::Profiles;
use cynode_wire::problem::Problem;
use cynode_wire::profiles::{CreateProfile, ProfileView, UpdateProfile};
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list, create)).routes(routes!(get, update, remove))
}

type ProfilePath = (NameOrId<ProjectId>, NameOrId<ProfileId>);

/// Lists the profiles of a project, by name.
#[utoipa::path(get, path = "/v1/projects/{project}/profiles", tag = "profiles",
    params(("project" = String, Path, description = "id or slug")),
    responses((status = 200, body = Vec<ProfileView>), (status = "4XX", body = Problem)))]
async fn list(
    State(profiles): State<Profiles>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(project): PathSegment<NameOrId<ProjectId>>,
) -> Result<Json<Vec<ProfileView>>, ApiError> {
    Ok(Json(profiles.list(&caller, &project).await?))
}

/// Creates a profile. For the owner of the project and administrators.
#[utoipa::path(post, path = "/v1/projects/{project}/profiles", tag = "profiles", request_body = CreateProfile,
    params(("project" = String, Path, description = "id or slug")),
    responses((status = 201, body = ProfileView), (status = "4XX", body = Problem)))]
async fn create(
    State(profiles): State<Profiles>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(project): PathSegment<NameOrId<ProjectId>>,
    JsonBody(body): JsonBody<CreateProfile>,
) -> Result<(StatusCode, Json<ProfileView>), ApiError> {
    Ok((StatusCode::CREATED, Json(profiles.create(&caller, &project, body).await?)))
}

/// Returns a profile.
#[utoipa::path(get, path = "/v1/projects/{project}/profiles/{profile}", tag = "profiles",
    params(("project" = String, Path, description = "id or slug"), ("profile" = String, Path, description = "id or name")),
    responses((status = 200, body = ProfileView), (status = "4XX", body = Problem)))]
async fn get(
    State(profiles): State<Profiles>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment((project, profile)): PathSegment<ProfilePath>,
) -> Result<Json<ProfileView>, ApiError> {
    Ok(Json(profiles.get(&caller, &project, Some(&profile)).await?))
}

/// Replaces the spec of a profile. For the owner of the project and administrators.
#[utoipa::path(put, path = "/v1/projects/{project}/profiles/{profile}", tag = "profiles", request_body = UpdateProfile,
    params(("project" = String, Path, description = "id or slug"), ("profile" = String, Path, description = "id or name")),
    responses((status = 200, body = ProfileView), (status = "4XX", body = Problem)))]
async fn update(
    State(profiles): State<Profiles>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment((project, profile)): PathSegment<ProfilePath>,
    JsonBody(body): JsonBody<UpdateProfile>,
) -> Result<Json<ProfileView>, ApiError> {
    Ok(Json(profiles.update(&caller, &project, &profile, body).await?))
}

/// Deletes a profile with its memory, and revokes the tokens of its agents. A profile that open tasks use is kept.
#[utoipa::path(delete, path = "/v1/projects/{project}/profiles/{profile}", tag = "profiles",
    params(("project" = String, Path, description = "id or slug"), ("profile" = String, Path, description = "id or name")),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(profiles): State<Profiles>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment((project, profile)): PathSegment<ProfilePath>,
) -> Result<StatusCode, ApiError> {
    profiles.delete(&caller, &project, &profile).await?;
    Ok(StatusCode::NO_CONTENT)
}
