//! Sign-in, API tokens and users.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::{TokenId, UserId};
use cynode_domain::name_or_id::NameOrId;
use cynode_resources::{Accounts, ClientAddress};
use cynode_wire::auth::{
    ChangePassword, CreateToken, CreateUser, EndedCount, Login, NewTokenView, RefreshToken,
    SessionView, TokenView, UpdateUser, UserView,
};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::problem::Problem;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;
use crate::router::PeerAddress;
use crate::state::ApiState;

/// Routes that need no token.
pub(crate) fn open_routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(login)).routes(routes!(refresh)).routes(routes!(logout))
}

/// Routes for signed-in users.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(whoami))
        .routes(routes!(password_change))
        .routes(routes!(user_create, user_list))
        .routes(routes!(user_update))
        .routes(routes!(sessions_end))
        .routes(routes!(tokens_revoke_all))
        .routes(routes!(token_create, token_list))
        .routes(routes!(token_revoke))
}

/// Signs in with a handle and its password.
#[utoipa::path(post, path = "/v1/auth/login", tag = "auth", security(()), request_body = Login,
    responses((status = 200, body = SessionView), (status = "4XX", body = Problem)))]
async fn login(
    State(accounts): State<Accounts>,
    PeerAddress(address): PeerAddress,
    JsonBody(body): JsonBody<Login>,
) -> Result<Json<SessionView>, ApiError> {
    Ok(Json(accounts.login(body, &ClientAddress(address)).await?))
}

/// Exchanges a refresh token for the next pair of tokens. A refresh token is valid once.
#[utoipa::path(post, path = "/v1/auth/refresh", tag = "auth", security(()), request_body = RefreshToken,
    responses((status = 200, body = SessionView), (status = "4XX", body = Problem)))]
async fn refresh(
    State(accounts): State<Accounts>,
    PeerAddress(address): PeerAddress,
    JsonBody(body): JsonBody<RefreshToken>,
) -> Result<Json<SessionView>, ApiError> {
    Ok(Json(accounts.refresh(&body.refresh_token, &ClientAddress(address)).await?))
}

/// Ends the session of a refresh token.
#[utoipa::path(post, path = "/v1/auth/logout", tag = "auth", security(()), request_body = RefreshToken,
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn logout(
    State(accounts): State<Accounts>,
    PeerAddress(address): PeerAddress,
    JsonBody(body): JsonBody<RefreshToken>,
) -> Result<StatusCode, ApiError> {
    accounts.logout(&body.refresh_token, &ClientAddress(address)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Returns the caller's account.
#[utoipa::path(get, path = "/v1/users/me", tag = "auth",
    responses((status = 200, body = UserView), (status = "4XX", body = Problem)))]
async fn whoami(
    State(accounts): State<Accounts>,
    AuthenticatedUser(caller): AuthenticatedUser,
) -> Result<Json<UserView>, ApiError> {
    Ok(Json(accounts.whoami(&caller).await?))
}

/// Creates a user. Administrators only.
#[utoipa::path(post, path = "/v1/users", tag = "auth", request_body = CreateUser,
    responses((status = 201, body = UserView), (status = "4XX", body = Problem)))]
async fn user_create(
    State(accounts): State<Accounts>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PeerAddress(address): PeerAddress,
    JsonBody(body): JsonBody<CreateUser>,
) -> Result<(StatusCode, Json<UserView>), ApiError> {
    let user = accounts.user_create(&caller, body, &ClientAddress(address)).await?;
    Ok((StatusCode::CREATED, Json(user)))
}

/// Lists the users by handle. Administrators only.
#[utoipa::path(get, path = "/v1/users", tag = "auth", params(PageQuery),
    responses((status = 200, body = Page<UserView>), (status = "4XX", body = Problem)))]
async fn user_list(
    State(accounts): State<Accounts>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<UserView>>, ApiError> {
    Ok(Json(accounts.user_list(&caller, &query).await?))
}

/// Disables, enables or promotes a user, by handle or id, or resets the password. Administrators only.
#[utoipa::path(patch, path = "/v1/users/{user}", tag = "auth", params(("user" = String, Path)),
    request_body = UpdateUser,
    responses((status = 200, body = UserView), (status = "4XX", body = Problem)))]
async fn user_update(
    State(accounts): State<Accounts>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PeerAddress(address): PeerAddress,
    PathSegment(user): PathSegment<NameOrId<UserId>>,
    JsonBody(body): JsonBody<UpdateUser>,
) -> Result<Json<UserView>, ApiError> {
    Ok(Json(accounts.user_update(&caller, &user, body, &ClientAddress(address)).await?))
}

/// Changes the caller's password and ends the caller's other sessions.
#[utoipa::path(post, path = "/v1/users/me/password", tag = "auth", request_body = ChangePassword,
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn password_change(
    State(accounts): State<Accounts>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PeerAddress(address): PeerAddress,
    JsonBody(body): JsonBody<ChangePassword>,
) -> Result<StatusCode, ApiError> {
    accounts.password_change(&caller, body, &ClientAddress(address)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends all sessions of a user: `me`, or for administrators any handle or id.
#[utoipa::path(delete, path = "/v1/users/{user}/sessions", tag = "auth",
    params(("user" = String, Path)),
    responses((status = 200, body = EndedCount), (status = "4XX", body = Problem)))]
async fn sessions_end(
    State(accounts): State<Accounts>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PeerAddress(address): PeerAddress,
    PathSegment(user): PathSegment<NameOrId<UserId>>,
) -> Result<Json<EndedCount>, ApiError> {
    Ok(Json(accounts.sessions_end(&caller, &user, &ClientAddress(address)).await?))
}

/// Revokes all API tokens of a user: `me`, or for administrators any handle or id.
#[utoipa::path(delete, path = "/v1/users/{user}/tokens", tag = "auth",
    params(("user" = String, Path)),
    responses((status = 200, body = EndedCount), (status = "4XX", body = Problem)))]
async fn tokens_revoke_all(
    State(accounts): State<Accounts>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PeerAddress(address): PeerAddress,
    PathSegment(user): PathSegment<NameOrId<UserId>>,
) -> Result<Json<EndedCount>, ApiError> {
    Ok(Json(accounts.tokens_revoke_all(&caller, &user, &ClientAddress(address)).await?))
}

/// Creates an API token for the caller. Only this response contains its secret.
#[utoipa::path(post, path = "/v1/tokens", tag = "auth", request_body = CreateToken,
    responses((status = 201, body = NewTokenView), (status = "4XX", body = Problem)))]
async fn token_create(
    State(accounts): State<Accounts>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<CreateToken>,
) -> Result<(StatusCode, Json<NewTokenView>), ApiError> {
    Ok((StatusCode::CREATED, Json(accounts.token_create(&caller, body).await?)))
}

/// Lists the caller's API tokens, newest first.
#[utoipa::path(get, path = "/v1/tokens", tag = "auth", params(PageQuery),
    responses((status = 200, body = Page<TokenView>), (status = "4XX", body = Problem)))]
async fn token_list(
    State(accounts): State<Accounts>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<TokenView>>, ApiError> {
    Ok(Json(accounts.token_list(&caller, &query).await?))
}

/// Revokes one of the caller's API tokens.
#[utoipa::path(delete, path = "/v1/tokens/{token}", tag = "auth", params(("token" = TokenId, Path)),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn token_revoke(
    State(accounts): State<Accounts>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(token): PathSegment<TokenId>,
) -> Result<StatusCode, ApiError> {
    accounts.token_revoke(&caller, token).await?;
    Ok(StatusCode::NO_CONTENT)
}
