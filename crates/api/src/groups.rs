//! Groups of users.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::{GroupId, UserId};
use cynode_domain::name_or_id::NameOrId;
use cynode_resources::groups::Groups;
use cynode_wire::groups::{CreateGroup, GroupView, MemberView};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::problem::Problem;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(get, remove))
        .routes(routes!(members))
        .routes(routes!(add, expel))
}

/// Lists groups by name: all for administrators, their own for other users.
#[utoipa::path(get, path = "/v1/groups", tag = "groups", params(PageQuery),
    responses((status = 200, body = Page<GroupView>), (status = "4XX", body = Problem)))]
async fn list(
    State(groups): State<Groups>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<GroupView>>, ApiError> {
    Ok(Json(groups.list(&caller, &query).await?))
}

/// Creates a group. Administrators only.
#[utoipa::path(post, path = "/v1/groups", tag = "groups", request_body = CreateGroup,
    responses((status = 201, body = GroupView), (status = "4XX", body = Problem)))]
async fn create(
    State(groups): State<Groups>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<CreateGroup>,
) -> Result<(StatusCode, Json<GroupView>), ApiError> {
    Ok((StatusCode::CREATED, Json(groups.create(&caller, body).await?)))
}

/// Returns a group by name or id.
#[utoipa::path(get, path = "/v1/groups/{group}", tag = "groups", params(("group" = String, Path)),
    responses((status = 200, body = GroupView), (status = "4XX", body = Problem)))]
async fn get(
    State(groups): State<Groups>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(group): PathSegment<NameOrId<GroupId>>,
) -> Result<Json<GroupView>, ApiError> {
    Ok(Json(groups.get(&caller, &group).await?))
}

/// Deletes a group with its preferences, credentials and rules. Administrators only.
#[utoipa::path(delete, path = "/v1/groups/{group}", tag = "groups", params(("group" = String, Path)),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(groups): State<Groups>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(group): PathSegment<NameOrId<GroupId>>,
) -> Result<StatusCode, ApiError> {
    groups.remove(&caller, &group).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists the members of a group by handle. For its members and administrators.
#[utoipa::path(get, path = "/v1/groups/{group}/members", tag = "groups",
    params(("group" = String, Path), PageQuery),
    responses((status = 200, body = Page<MemberView>), (status = "4XX", body = Problem)))]
async fn members(
    State(groups): State<Groups>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(group): PathSegment<NameOrId<GroupId>>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<MemberView>>, ApiError> {
    Ok(Json(groups.members(&caller, &group, &query).await?))
}

/// Adds a user, by handle or id, to a group. Administrators only.
#[utoipa::path(put, path = "/v1/groups/{group}/members/{user}", tag = "groups",
    params(("group" = String, Path), ("user" = String, Path)),
    responses((status = 200, body = MemberView), (status = "4XX", body = Problem)))]
async fn add(
    State(groups): State<Groups>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment((group, user)): PathSegment<(NameOrId<GroupId>, NameOrId<UserId>)>,
) -> Result<Json<MemberView>, ApiError> {
    Ok(Json(groups.add(&caller, &group, &user).await?))
}

/// Removes a user from a group. Administrators only.
#[utoipa::path(delete, path = "/v1/groups/{group}/members/{user}", tag = "groups",
    params(("group" = String, Path), ("user" = String, Path)),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn expel(
    State(groups): State<Groups>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment((group, user)): PathSegment<(NameOrId<GroupId>, NameOrId<UserId>)>,
) -> Result<StatusCode, ApiError> {
    groups.expel(&caller, &group, &user).await?;
    Ok(StatusCode::NO_CONTENT)
}
