//! Settings of the installation.

use axum::Json;
use axum::extract::State;
use cynode_resources::settings::InstallationSettings;
use cynode_wire::changes::ChangeView;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::problem::Problem;
use cynode_wire::settings::{SetSetting, SettingView};
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
        .routes(routes!(get))
        .routes(routes!(set))
        .routes(routes!(remove))
        .routes(routes!(changes))
}

/// Lists settings by name.
#[utoipa::path(get, path = "/v1/settings", tag = "settings",
    params(PageQuery),
    responses((status = 200, body = Page<SettingView>), (status = "4XX", body = Problem)))]
async fn list(
    State(settings): State<InstallationSettings>,
    _: AuthenticatedUser,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<SettingView>>, ApiError> {
    Ok(Json(settings.list("", &query).await?))
}

/// Returns a setting.
#[utoipa::path(get, path = "/v1/settings/{key}", tag = "settings",
    params(("key" = String, Path)),
    responses((status = 200, body = SettingView), (status = "4XX", body = Problem)))]
async fn get(
    State(settings): State<InstallationSettings>,
    _: AuthenticatedUser,
    PathSegment(key): PathSegment<String>,
) -> Result<Json<SettingView>, ApiError> {
    Ok(Json(settings.get(&key).await?))
}

/// Sets a setting. Administrators only.
#[utoipa::path(put, path = "/v1/settings/{key}", tag = "settings", request_body = SetSetting,
    params(("key" = String, Path)),
    responses((status = 200, body = SettingView), (status = "4XX", body = Problem)))]
async fn set(
    State(settings): State<InstallationSettings>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(key): PathSegment<String>,
    JsonBody(body): JsonBody<SetSetting>,
) -> Result<Json<SettingView>, ApiError> {
    Ok(Json(settings.set(&caller, &key, body).await?))
}

/// Deletes a setting. Administrators only.
#[utoipa::path(delete, path = "/v1/settings/{key}", tag = "settings",
    params(("key" = String, Path)),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(settings): State<InstallationSettings>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(key): PathSegment<String>,
) -> Result<StatusCode, ApiError> {
    settings.remove(&caller, &key, None).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists the changes of a setting, newest first. Administrators only.
#[utoipa::path(get, path = "/v1/settings/{key}/changes", tag = "settings",
    params(("key" = String, Path), PageQuery),
    responses((status = 200, body = Page<ChangeView>), (status = "4XX", body = Problem)))]
async fn changes(
    State(settings): State<InstallationSettings>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(key): PathSegment<String>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<ChangeView>>, ApiError> {
    Ok(Json(settings.changes(&caller, &key, &query).await?))
}
