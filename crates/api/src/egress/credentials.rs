//! Credentials for providers: secrets go in and never come out.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::CredentialId;
use cynode_ops::credentials::Credentials;
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
use crate::extract::{Body, Params, Segment};
use crate::identity::User;

pub(crate) fn routes(credentials: Credentials) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(set))
        .routes(routes!(get))
        .routes(routes!(update))
        .routes(routes!(changes))
        .routes(routes!(rotate))
        .routes(routes!(remove))
        .routes(routes!(rotate_key))
        .with_state(credentials)
}

/// Credentials without their secrets: one's own, or everybody's for administrators.
#[utoipa::path(get, path = "/v1/credentials", tag = "credentials",
    responses((status = 200, body = Vec<CredentialView>), (status = "4XX", body = Problem)))]
async fn list(
    State(credentials): State<Credentials>,
    User(caller): User,
) -> Result<Json<Vec<CredentialView>>, ApiError> {
    Ok(Json(credentials.list(&caller).await?))
}

/// Keeps a credential, sealed. Its secret is never given back.
#[utoipa::path(post, path = "/v1/credentials", tag = "credentials", request_body = SetCredential,
    responses((status = 201, body = CredentialView), (status = "4XX", body = Problem)))]
async fn set(
    State(credentials): State<Credentials>,
    User(caller): User,
    Body(body): Body<SetCredential>,
) -> Result<(StatusCode, Json<CredentialView>), ApiError> {
    Ok((StatusCode::CREATED, Json(credentials.set(&caller, body).await?)))
}

/// One credential, without its secret.
#[utoipa::path(get, path = "/v1/credentials/{credential}", tag = "credentials",
    params(("credential" = CredentialId, Path)),
    responses((status = 200, body = CredentialView), (status = "4XX", body = Problem)))]
async fn get(
    State(credentials): State<Credentials>,
    User(caller): User,
    Segment(credential): Segment<CredentialId>,
) -> Result<Json<CredentialView>, ApiError> {
    Ok(Json(credentials.get(&caller, credential).await?))
}

/// Says whether a credential is used, and until when. Its secret stays.
#[utoipa::path(patch, path = "/v1/credentials/{credential}", tag = "credentials",
    request_body = UpdateCredential, params(("credential" = CredentialId, Path)),
    responses((status = 200, body = CredentialView), (status = "4XX", body = Problem)))]
async fn update(
    State(credentials): State<Credentials>,
    User(caller): User,
    Segment(credential): Segment<CredentialId>,
    Body(body): Body<UpdateCredential>,
) -> Result<Json<CredentialView>, ApiError> {
    Ok(Json(credentials.update(&caller, credential, body).await?))
}

/// Who set, changed and removed a credential, newest first: for its owner and administrators.
#[utoipa::path(get, path = "/v1/credentials/{credential}/changes", tag = "credentials",
    params(("credential" = CredentialId, Path), PageQuery),
    responses((status = 200, body = Page<ChangeView>), (status = "4XX", body = Problem)))]
async fn changes(
    State(credentials): State<Credentials>,
    User(caller): User,
    Segment(credential): Segment<CredentialId>,
    Params(query): Params<PageQuery>,
) -> Result<Json<Page<ChangeView>>, ApiError> {
    Ok(Json(credentials.changes(&caller, credential, &query).await?))
}

/// Replaces the secret of a credential; until when it is used stays, unless the request says otherwise.
#[utoipa::path(post, path = "/v1/credentials/{credential}/rotate", tag = "credentials",
    request_body = RotateCredential, params(("credential" = CredentialId, Path)),
    responses((status = 200, body = CredentialView), (status = "4XX", body = Problem)))]
async fn rotate(
    State(credentials): State<Credentials>,
    User(caller): User,
    Segment(credential): Segment<CredentialId>,
    Body(body): Body<RotateCredential>,
) -> Result<Json<CredentialView>, ApiError> {
    Ok(Json(credentials.rotate(&caller, credential, body).await?))
}

/// Removes a credential.
#[utoipa::path(delete, path = "/v1/credentials/{credential}", tag = "credentials",
    params(("credential" = CredentialId, Path)),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(credentials): State<Credentials>,
    User(caller): User,
    Segment(credential): Segment<CredentialId>,
) -> Result<StatusCode, ApiError> {
    credentials.remove(&caller, credential).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Seals every credential with a new key. Administrators only.
#[utoipa::path(post, path = "/v1/credential-key/rotate", tag = "credentials",
    responses((status = 200, body = RotatedKeyView), (status = "4XX", body = Problem)))]
async fn rotate_key(
    State(credentials): State<Credentials>,
    User(caller): User,
) -> Result<Json<RotatedKeyView>, ApiError> {
    Ok(Json(credentials.rotate_key(&caller).await?))
}
