//! Provider credentials. Secrets are write-only.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::CredentialId;
use cynode_models::credentials::CredentialManager;
use cynode_wire::changes::ChangeView;
use cynode_wire::credentials::{
    CredentialView, RotateCredential, RotatedKeyView, SetCredential, UpdateCredential,
};
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
        .routes(routes!(list))
        .routes(routes!(set))
        .routes(routes!(get))
        .routes(routes!(update))
        .routes(routes!(changes))
        .routes(routes!(rotate))
        .routes(routes!(remove))
        .routes(routes!(rotate_key))
}

/// Lists credentials without their secrets: the caller's own, or all for administrators.
#[utoipa::path(get, path = "/v1/credentials", tag = "credentials",
    responses((status = 200, body = Vec<CredentialView>), (status = "4XX", body = Problem)))]
async fn list(
    State(credentials): State<CredentialManager>,
    AuthenticatedUser(caller): AuthenticatedUser,
) -> Result<Json<Vec<CredentialView>>, ApiError> {
    Ok(Json(credentials.list(&caller).await?))
}

/// Stores a credential, encrypted. Its secret is never returned.
#[utoipa::path(post, path = "/v1/credentials", tag = "credentials", request_body = SetCredential,
    responses((status = 201, body = CredentialView), (status = "4XX", body = Problem)))]
async fn set(
    State(credentials): State<CredentialManager>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<SetCredential>,
) -> Result<(StatusCode, Json<CredentialView>), ApiError> {
    Ok((StatusCode::CREATED, Json(credentials.set(&caller, body).await?)))
}

/// Returns a credential without its secret.
#[utoipa::path(get, path = "/v1/credentials/{credential}", tag = "credentials",
    params(("credential" = CredentialId, Path)),
    responses((status = 200, body = CredentialView), (status = "4XX", body = Problem)))]
async fn get(
    State(credentials): State<CredentialManager>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(credential): PathSegment<CredentialId>,
) -> Result<Json<CredentialView>, ApiError> {
    Ok(Json(credentials.get(&caller, credential).await?))
}

/// Enables or disables a credential, or changes its expiry. The secret is unchanged.
#[utoipa::path(patch, path = "/v1/credentials/{credential}", tag = "credentials",
    request_body = UpdateCredential, params(("credential" = CredentialId, Path)),
    responses((status = 200, body = CredentialView), (status = "4XX", body = Problem)))]
async fn update(
    State(credentials): State<CredentialManager>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(credential): PathSegment<CredentialId>,
    JsonBody(body): JsonBody<UpdateCredential>,
) -> Result<Json<CredentialView>, ApiError> {
    Ok(Json(credentials.update(&caller, credential, body).await?))
}

/// Lists the changes of a credential, newest first. For its owner and administrators.
#[utoipa::path(get, path = "/v1/credentials/{credential}/changes", tag = "credentials",
    params(("credential" = CredentialId, Path), PageQuery),
    responses((status = 200, body = Page<ChangeView>), (status = "4XX", body = Problem)))]
async fn changes(
    State(credentials): State<CredentialManager>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(credential): PathSegment<CredentialId>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<ChangeView>>, ApiError> {
    Ok(Json(credentials.changes(&caller, credential, &query).await?))
}

/// Replaces the secret of a credential; keeps its expiry unless the request sets one.
#[utoipa::path(post, path = "/v1/credentials/{credential}/rotate", tag = "credentials",
    request_body = RotateCredential, params(("credential" = CredentialId, Path)),
    responses((status = 200, body = CredentialView), (status = "4XX", body = Problem)))]
async fn rotate(
    State(credentials): State<CredentialManager>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(credential): PathSegment<CredentialId>,
    JsonBody(body): JsonBody<RotateCredential>,
) -> Result<Json<CredentialView>, ApiError> {
    Ok(Json(credentials.rotate(&caller, credential, body).await?))
}

/// Deletes a credential.
#[utoipa::path(delete, path = "/v1/credentials/{credential}", tag = "credentials",
    params(("credential" = CredentialId, Path)),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(credentials): State<CredentialManager>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(credential): PathSegment<CredentialId>,
) -> Result<StatusCode, ApiError> {
    credentials.remove(&caller, credential).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Re-encrypts every credential with a new key. Administrators only.
#[utoipa::path(post, path = "/v1/credential-key/rotate", tag = "credentials",
    responses((status = 200, body = RotatedKeyView), (status = "4XX", body = Problem)))]
async fn rotate_key(
    State(credentials): State<CredentialManager>,
    AuthenticatedUser(caller): AuthenticatedUser,
) -> Result<Json<RotatedKeyView>, ApiError> {
    Ok(Json(credentials.rotate_key(&caller).await?))
}
