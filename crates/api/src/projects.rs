//! Projects.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::ProjectId;
use cynode_domain::name_or_id::NameOrId;
use cynode_resources::Projects;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::problem::Problem;
use cynode_wire::projects::{CreateProject, ProjectView, UpdateProject};
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(create, list)).routes(routes!(get, update))
}

/// Creates a project.
#[utoipa::path(post, path = "/v1/projects", tag = "projects", request_body = CreateProject,
    responses((status = 201, body = ProjectView), (status = "4XX", body = Problem)))]
async fn create(
    State(projects): State<Projects>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<CreateProject>,
) -> Result<(StatusCode, Json<ProjectView>), ApiError> {
    Ok((StatusCode::CREATED, Json(projects.create(&caller, body).await?)))
}

/// Lists the caller's projects, newest first; administrators see all.
#[utoipa::path(get, path = "/v1/projects", tag = "projects", params(PageQuery),
    responses((status = 200, body = Page<ProjectView>), (status = "4XX", body = Problem)))]
async fn list(
    State(projects): State<Projects>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<ProjectView>>, ApiError> {
    Ok(Json(projects.list(&caller, &query).await?))
}

/// Returns a project by id or slug.
#[utoipa::path(get, path = "/v1/projects/{project}", tag = "projects",
    params(("project" = String, Path, description = "id or slug")),
    responses((status = 200, body = ProjectView), (status = "4XX", body = Problem)))]
async fn get(
    State(projects): State<Projects>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(project): PathSegment<NameOrId<ProjectId>>,
) -> Result<Json<ProjectView>, ApiError> {
    Ok(Json(projects.get(&caller, &project).await?))
}

/// Updates the fields set in the body.
#[utoipa::path(patch, path = "/v1/projects/{project}", tag = "projects", request_body = UpdateProject,
    params(("project" = String, Path, description = "id or slug")),
    responses((status = 200, body = ProjectView), (status = "4XX", body = Problem)))]
async fn update(
    State(projects): State<Projects>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(project): PathSegment<NameOrId<ProjectId>>,
    JsonBody(body): JsonBody<UpdateProject>,
) -> Result<Json<ProjectView>, ApiError> {
    Ok(Json(projects.update(&caller, &project, body).await?))
}
