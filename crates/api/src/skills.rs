//! Skills: texts that tell agents how to work.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::SkillId;
use cynode_ops::skills::{SkillError, Skills};
use cynode_runtime::problem::Kind;
use cynode_wire::page::Page;
use cynode_wire::problem::Problem;
use cynode_wire::skills::{CreateSkill, SkillContentView, SkillQuery, SkillView, UpdateSkill};
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, Params, Segment};
use crate::identity::User;

pub(crate) fn routes(skills: Skills) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(load))
        .routes(routes!(get, put, remove))
        .with_state(skills)
}

/// The skills that the caller can read, newest first, without their texts.
#[utoipa::path(get, path = "/v1/skills", tag = "skills", params(SkillQuery),
    responses((status = 200, body = Page<SkillView>), (status = "4XX", body = Problem)))]
async fn list(
    State(skills): State<Skills>,
    User(caller): User,
    Params(query): Params<SkillQuery>,
) -> Result<Json<Page<SkillView>>, ApiError> {
    Ok(Json(skills.list(&caller, &query).await?))
}

/// Keeps a skill of the caller's. It is scanned first; what is refused is named with its passage.
#[utoipa::path(post, path = "/v1/skills/load", tag = "skills", request_body = CreateSkill,
    responses((status = 201, body = SkillView), (status = "4XX", body = Problem)))]
async fn load(
    State(skills): State<Skills>,
    User(caller): User,
    Body(body): Body<CreateSkill>,
) -> Result<(StatusCode, Json<SkillView>), ApiError> {
    Ok((StatusCode::CREATED, Json(skills.create(&caller, body).await?)))
}

/// A skill with its text.
#[utoipa::path(get, path = "/v1/skills/{skill}", tag = "skills", params(("skill" = SkillId, Path)),
    responses((status = 200, body = SkillContentView), (status = "4XX", body = Problem)))]
async fn get(
    State(skills): State<Skills>,
    User(caller): User,
    Segment(skill): Segment<SkillId>,
) -> Result<Json<SkillContentView>, ApiError> {
    Ok(Json(skills.get(&caller, skill).await?))
}

/// Changes what the body names of a skill. Its owner's, and for administrators everybody's and the
/// text of the system's own.
#[utoipa::path(put, path = "/v1/skills/{skill}", tag = "skills", request_body = UpdateSkill,
    params(("skill" = SkillId, Path)),
    responses((status = 200, body = SkillView), (status = "4XX", body = Problem)))]
async fn put(
    State(skills): State<Skills>,
    User(caller): User,
    Segment(skill): Segment<SkillId>,
    Body(body): Body<UpdateSkill>,
) -> Result<Json<SkillView>, ApiError> {
    Ok(Json(skills.update(&caller, skill, body).await?))
}

/// Removes a skill. Of the system's own the text of the release comes back.
#[utoipa::path(delete, path = "/v1/skills/{skill}", tag = "skills", params(("skill" = SkillId, Path)),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(skills): State<Skills>,
    User(caller): User,
    Segment(skill): Segment<SkillId>,
) -> Result<StatusCode, ApiError> {
    skills.remove(&caller, skill).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl From<SkillError> for ApiError {
    fn from(error: SkillError) -> Self {
        use SkillError as E;
        let detail = error.to_string();
        match error {
            E::NotFound(_) => Self::new(Kind::NotFound, detail),
            E::Forbidden(_) => Self::new(Kind::Forbidden, detail),
            E::Conflict => Self::new(Kind::Conflict, detail),
            E::Hostile(_) | E::Invalid(_) | E::Page(_) => Self::new(Kind::Validation, detail),
            E::Project(error) => error.into(),
            E::Store(error) => error.into(),
        }
    }
}
