//! Providers of models.

use axum::Json;
use axum::extract::State;
use cynode_ops::egress::Egress;
use cynode_wire::changes::ChangeView;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::problem::Problem;
use cynode_wire::providers::{ModelsView, ProviderTestView, ProviderView, PutProvider};
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, Params, Segment};
use crate::identity::User;

pub(crate) fn routes(egress: Egress) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(put))
        .routes(routes!(remove))
        .routes(routes!(test))
        .routes(routes!(changes))
        .routes(routes!(models))
        .with_state(egress)
}

/// Every provider of models, by name. Administrators only.
#[utoipa::path(get, path = "/v1/model-providers", tag = "models",
    responses((status = 200, body = Vec<ProviderView>), (status = "4XX", body = Problem)))]
async fn list(
    State(egress): State<Egress>,
    User(caller): User,
) -> Result<Json<Vec<ProviderView>>, ApiError> {
    Ok(Json(egress.providers(&caller).await?))
}

/// Adds a provider of models, or replaces the one of that name. Administrators only.
#[utoipa::path(put, path = "/v1/model-providers/{name}", tag = "models",
    request_body = PutProvider, params(("name" = String, Path)),
    responses((status = 200, body = ProviderView), (status = "4XX", body = Problem)))]
async fn put(
    State(egress): State<Egress>,
    User(caller): User,
    Segment(name): Segment<String>,
    Body(body): Body<PutProvider>,
) -> Result<Json<ProviderView>, ApiError> {
    Ok(Json(egress.put_provider(&caller, &name, body).await?))
}

/// Removes a provider of models. Administrators only.
#[utoipa::path(delete, path = "/v1/model-providers/{name}", tag = "models",
    params(("name" = String, Path)),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(egress): State<Egress>,
    User(caller): User,
    Segment(name): Segment<String>,
) -> Result<StatusCode, ApiError> {
    egress.remove_provider(&caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Asks a provider what it offers, with the credential that the caller's own calls would use.
/// Administrators only.
#[utoipa::path(post, path = "/v1/model-providers/{name}/test", tag = "models",
    params(("name" = String, Path)),
    responses((status = 200, body = ProviderTestView), (status = "4XX", body = Problem)))]
async fn test(
    State(egress): State<Egress>,
    User(caller): User,
    Segment(name): Segment<String>,
) -> Result<Json<ProviderTestView>, ApiError> {
    Ok(Json(egress.test_provider(&caller, &name).await?))
}

/// Who added, replaced and removed a provider, newest first. Administrators only.
#[utoipa::path(get, path = "/v1/model-providers/{name}/changes", tag = "models",
    params(("name" = String, Path), PageQuery),
    responses((status = 200, body = Page<ChangeView>), (status = "4XX", body = Problem)))]
async fn changes(
    State(egress): State<Egress>,
    User(caller): User,
    Segment(name): Segment<String>,
    Params(query): Params<PageQuery>,
) -> Result<Json<Page<ChangeView>>, ApiError> {
    Ok(Json(egress.provider_changes(&caller, &name, &query).await?))
}

/// The models that the caller may use.
#[utoipa::path(get, path = "/v1/brain/models", tag = "models",
    responses((status = 200, body = ModelsView), (status = "4XX", body = Problem)))]
async fn models(
    State(egress): State<Egress>,
    User(caller): User,
) -> Result<Json<ModelsView>, ApiError> {
    Ok(Json(egress.models(&caller).await?))
}
