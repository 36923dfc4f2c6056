//! Skills: instructions for agents.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::SkillId;
use cynode_resources::skills::Skills;
use cynode_wire::page::Page;
use cynode_wire::problem::Problem;
use cynode_wire::skills::{CreateSkill, SkillContentView, SkillQuery, SkillView, UpdateSkill};
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;

pub(crate) fn routes(skills: Skills) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(load))
        .routes(routes!(get, put, remove))
        .with_state(skills)
}

/// Lists the skills that the caller can read, newest first, without their texts.
#[utoipa::path(get, path = "/v1/skills", tag = "skills", params(SkillQuery),
    responses((status = 200, body = Page<SkillView>), (status = "4XX", body = Problem)))]
async fn list(
    State(skills): State<Skills>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<SkillQuery>,
) -> Result<Json<Page<SkillView>>, ApiError> {
    Ok(Json(skills.list(&caller, &query).await?))
}

/// Creates a skill. It is scanned first; a rejection names the passage.
#[utoipa::path(post, path = "/v1/skills/load", tag = "skills", request_body = CreateSkill,
    responses((status = 201, body = SkillView), (status = "4XX", body = Problem)))]
async fn load(
    State(skills): State<Skills>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<CreateSkill>,
) -> Result<(StatusCode, Json<SkillView>), ApiError> {
    Ok((StatusCode::CREATED, Json(skills.create(&caller, body).await?)))
}

/// Returns a skill with its text.
#[utoipa::path(get, path = "/v1/skills/{skill}", tag = "skills", params(("skill" = SkillId, Path)),
    responses((status = 200, body = SkillContentView), (status = "4XX", body = Problem)))]
async fn get(
    State(skills): State<Skills>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(skill): PathSegment<SkillId>,
) -> Result<Json<SkillContentView>, ApiError> {
    Ok(Json(skills.get(&caller, skill).await?))
}

/// Updates the fields set in the body. For the owner; administrators may change any skill, and the
/// text of the system skill.
#[utoipa::path(put, path = "/v1/skills/{skill}", tag = "skills", request_body = UpdateSkill,
    params(("skill" = SkillId, Path)),
    responses((status = 200, body = SkillView), (status = "4XX", body = Problem)))]
async fn put(
    State(skills): State<Skills>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(skill): PathSegment<SkillId>,
    JsonBody(body): JsonBody<UpdateSkill>,
) -> Result<Json<SkillView>, ApiError> {
    Ok(Json(skills.update(&caller, skill, body).await?))
}

/// Deletes a skill. For the system skill it restores the release's text.
#[utoipa::path(delete, path = "/v1/skills/{skill}", tag = "skills", params(("skill" = SkillId, Path)),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(skills): State<Skills>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(skill): PathSegment<SkillId>,
) -> Result<StatusCode, ApiError> {
    skills.remove(&caller, skill).await?;
    Ok(StatusCode::NO_CONTENT)
}
