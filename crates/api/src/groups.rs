//! Groups of users.

use axum::Json;
use axum::extract::State;
use cynode_ops::groups::{GroupError, Groups};
use cynode_runtime::problem::Kind;
use cynode_wire::groups::{CreateGroup, GroupView, MemberView};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::problem::Problem;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, Params, Segment};
use crate::identity::User;

pub(crate) fn routes(groups: Groups) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(get, remove))
        .routes(routes!(members))
        .routes(routes!(add, expel))
        .with_state(groups)
}

/// Groups by name: every one for an administrator, the own ones for others.
#[utoipa::path(get, path = "/v1/groups", tag = "groups", params(PageQuery),
    responses((status = 200, body = Page<GroupView>), (status = "4XX", body = Problem)))]
async fn list(
    State(groups): State<Groups>,
    User(caller): User,
    Params(query): Params<PageQuery>,
) -> Result<Json<Page<GroupView>>, ApiError> {
    Ok(Json(groups.list(&caller, &query).await?))
}

/// Makes a group. Administrators only.
#[utoipa::path(post, path = "/v1/groups", tag = "groups", request_body = CreateGroup,
    responses((status = 201, body = GroupView), (status = "4XX", body = Problem)))]
async fn create(
    State(groups): State<Groups>,
    User(caller): User,
    Body(body): Body<CreateGroup>,
) -> Result<(StatusCode, Json<GroupView>), ApiError> {
    Ok((StatusCode::CREATED, Json(groups.create(&caller, body).await?)))
}

/// One group, by name or id.
#[utoipa::path(get, path = "/v1/groups/{group}", tag = "groups", params(("group" = String, Path)),
    responses((status = 200, body = GroupView), (status = "4XX", body = Problem)))]
async fn get(
    State(groups): State<Groups>,
    User(caller): User,
    Segment(group): Segment<String>,
) -> Result<Json<GroupView>, ApiError> {
    Ok(Json(groups.get(&caller, &group).await?))
}

/// Removes a group with its preferences, credentials and rules. Administrators only.
#[utoipa::path(delete, path = "/v1/groups/{group}", tag = "groups", params(("group" = String, Path)),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(groups): State<Groups>,
    User(caller): User,
    Segment(group): Segment<String>,
) -> Result<StatusCode, ApiError> {
    groups.remove(&caller, &group).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Who is in a group, by handle. For its members and administrators.
#[utoipa::path(get, path = "/v1/groups/{group}/members", tag = "groups",
    params(("group" = String, Path), PageQuery),
    responses((status = 200, body = Page<MemberView>), (status = "4XX", body = Problem)))]
async fn members(
    State(groups): State<Groups>,
    User(caller): User,
    Segment(group): Segment<String>,
    Params(query): Params<PageQuery>,
) -> Result<Json<Page<MemberView>>, ApiError> {
    Ok(Json(groups.members(&caller, &group, &query).await?))
}

/// Adds a user, by handle or id, to a group. Administrators only.
#[utoipa::path(put, path = "/v1/groups/{group}/members/{user}", tag = "groups",
    params(("group" = String, Path), ("user" = String, Path)),
    responses((status = 200, body = MemberView), (status = "4XX", body = Problem)))]
async fn add(
    State(groups): State<Groups>,
    User(caller): User,
    Segment((group, user)): Segment<(String, String)>,
) -> Result<Json<MemberView>, ApiError> {
    Ok(Json(groups.add(&caller, &group, &user).await?))
}

/// Takes a user out of a group. Administrators only.
#[utoipa::path(delete, path = "/v1/groups/{group}/members/{user}", tag = "groups",
    params(("group" = String, Path), ("user" = String, Path)),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn expel(
    State(groups): State<Groups>,
    User(caller): User,
    Segment((group, user)): Segment<(String, String)>,
) -> Result<StatusCode, ApiError> {
    groups.expel(&caller, &group, &user).await?;
    Ok(StatusCode::NO_CONTENT)
}

impl From<GroupError> for ApiError {
    fn from(error: GroupError) -> Self {
        use GroupError as E;
        let detail = error.to_string();
        match error {
            E::NotFound(_) | E::NoUser(_) | E::NotMember { .. } => {
                Self::new(Kind::NotFound, detail)
            }
            E::Exists(_) => Self::new(Kind::Conflict, detail),
            E::NotAdmin => Self::new(Kind::Forbidden, detail),
            E::Invalid(_) | E::Page(_) => Self::new(Kind::Validation, detail),
            E::Store(error) => error.into(),
        }
    }
}
