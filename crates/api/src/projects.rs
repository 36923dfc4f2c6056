//! Projects.

use axum::Json;
use axum::extract::State;
use cynode_ops::Projects;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::problem::Problem;
use cynode_wire::projects::{CreateProject, ProjectView, UpdateProject};
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, Params, Segment};
use crate::identity::User;

pub(crate) fn routes(projects: Projects) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(create, list))
        .routes(routes!(get, update))
        .with_state(projects)
}

/// Makes a project.
#[utoipa::path(post, path = "/v1/projects", tag = "projects", request_body = CreateProject,
    responses((status = 201, body = ProjectView), (status = "4XX", body = Problem)))]
async fn create(
    State(projects): State<Projects>,
    User(caller): User,
    Body(body): Body<CreateProject>,
) -> Result<(StatusCode, Json<ProjectView>), ApiError> {
    Ok((StatusCode::CREATED, Json(projects.create(&caller, body).await?)))
}

/// The caller's projects, newest first; administrators see all.
#[utoipa::path(get, path = "/v1/projects", tag = "projects", params(PageQuery),
    responses((status = 200, body = Page<ProjectView>), (status = "4XX", body = Problem)))]
async fn list(
    State(projects): State<Projects>,
    User(caller): User,
    Params(query): Params<PageQuery>,
) -> Result<Json<Page<ProjectView>>, ApiError> {
    Ok(Json(projects.list(&caller, &query).await?))
}

/// A project, by id or slug.
#[utoipa::path(get, path = "/v1/projects/{project}", tag = "projects",
    params(("project" = String, Path, description = "id or slug")),
    responses((status = 200, body = ProjectView), (status = "4XX", body = Problem)))]
async fn get(
    State(projects): State<Projects>,
    User(caller): User,
    Segment(project): Segment<String>,
) -> Result<Json<ProjectView>, ApiError> {
    Ok(Json(projects.get(&caller, &project).await?))
}

/// Changes what the body names.
#[utoipa::path(patch, path = "/v1/projects/{project}", tag = "projects", request_body = UpdateProject,
    params(("project" = String, Path, description = "id or slug")),
    responses((status = 200, body = ProjectView), (status = "4XX", body = Problem)))]
async fn update(
    State(projects): State<Projects>,
    User(caller): User,
    Segment(project): Segment<String>,
    Body(body): Body<UpdateProject>,
) -> Result<Json<ProjectView>, ApiError> {
    Ok(Json(projects.update(&caller, &project, body).await?))
}
