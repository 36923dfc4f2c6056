//! Skills: instructions for agents.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::SkillId;
use cynode_resources::skills::Skills;
use cynode_wire::page::Page;
use cynode_wire::page::PageQuery;
use cynode_wire::problem::Problem;
use cynode_wire::skills::{
    CreateSkill, ReleaseSkill, RollbackSkill, SkillContentView, SkillDiffQuery, SkillDiffView,
    SkillQuery, SkillVersionContentView, SkillVersionView, SkillView, UpdateSkill,
};
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(load))
        .routes(routes!(get, put, remove))
        .routes(routes!(history))
        .routes(routes!(version))
        .routes(routes!(diff))
        .routes(routes!(rollback))
        .routes(routes!(release))
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

/// Returns a skill with its text. A text in quarantine is not returned.
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

/// Lists the versions of a skill, newest first, without their texts. For those who may change it.
#[utoipa::path(get, path = "/v1/skills/{skill}/versions", tag = "skills",
    params(("skill" = SkillId, Path), PageQuery),
    responses((status = 200, body = Page<SkillVersionView>), (status = "4XX", body = Problem)))]
async fn history(
    State(skills): State<Skills>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(skill): PathSegment<SkillId>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<SkillVersionView>>, ApiError> {
    Ok(Json(skills.history(&caller, skill, &query).await?))
}

/// Returns a version of a skill with its text. For those who may change it.
#[utoipa::path(get, path = "/v1/skills/{skill}/versions/{version}", tag = "skills",
    params(("skill" = SkillId, Path), ("version" = i64, Path)),
    responses((status = 200, body = SkillVersionContentView), (status = "4XX", body = Problem)))]
async fn version(
    State(skills): State<Skills>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment((skill, version)): PathSegment<(SkillId, i64)>,
) -> Result<Json<SkillVersionContentView>, ApiError> {
    Ok(Json(skills.version(&caller, skill, version).await?))
}

/// Compares two versions of a skill; without numbers the current one with the one before.
#[utoipa::path(get, path = "/v1/skills/{skill}/diff", tag = "skills",
    params(("skill" = SkillId, Path), SkillDiffQuery),
    responses((status = 200, body = SkillDiffView), (status = "4XX", body = Problem)))]
async fn diff(
    State(skills): State<Skills>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(skill): PathSegment<SkillId>,
    QueryParams(query): QueryParams<SkillDiffQuery>,
) -> Result<Json<SkillDiffView>, ApiError> {
    Ok(Json(skills.diff(&caller, skill, &query).await?))
}

/// Restores a version, as a new version that is scanned like any other.
#[utoipa::path(post, path = "/v1/skills/{skill}/rollback", tag = "skills", request_body = RollbackSkill,
    params(("skill" = SkillId, Path)),
    responses((status = 200, body = SkillView), (status = "4XX", body = Problem)))]
async fn rollback(
    State(skills): State<Skills>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(skill): PathSegment<SkillId>,
    JsonBody(body): JsonBody<RollbackSkill>,
) -> Result<Json<SkillView>, ApiError> {
    Ok(Json(skills.rollback(&caller, skill, body).await?))
}

/// Releases a skill from quarantine, with a reason that is recorded. Administrators only.
#[utoipa::path(post, path = "/v1/skills/{skill}/release", tag = "skills", request_body = ReleaseSkill,
    params(("skill" = SkillId, Path)),
    responses((status = 200, body = SkillView), (status = "4XX", body = Problem)))]
async fn release(
    State(skills): State<Skills>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(skill): PathSegment<SkillId>,
    JsonBody(body): JsonBody<ReleaseSkill>,
) -> Result<Json<SkillView>, ApiError> {
    Ok(Json(skills.release(&caller, skill, body).await?))
}
