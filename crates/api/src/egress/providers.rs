//! Model providers.

use axum::Json;
use axum::extract::State;
use cynode_models::egress::Egress;
use cynode_wire::changes::ChangeView;
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::problem::Problem;
use cynode_wire::providers::{ModelsView, ProviderTestView, ProviderView, PutProvider};
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
        .routes(routes!(put))
        .routes(routes!(remove))
        .routes(routes!(test))
        .routes(routes!(changes))
        .routes(routes!(models))
}

/// Lists the model providers by name. Administrators only.
#[utoipa::path(get, path = "/v1/model-providers", tag = "models",
    responses((status = 200, body = Vec<ProviderView>), (status = "4XX", body = Problem)))]
async fn list(
    State(egress): State<Egress>,
    AuthenticatedUser(caller): AuthenticatedUser,
) -> Result<Json<Vec<ProviderView>>, ApiError> {
    Ok(Json(egress.list_providers(&caller).await?))
}

/// Adds a model provider, or replaces the one with that name. Administrators only.
#[utoipa::path(put, path = "/v1/model-providers/{name}", tag = "models",
    request_body = PutProvider, params(("name" = String, Path)),
    responses((status = 200, body = ProviderView), (status = "4XX", body = Problem)))]
async fn put(
    State(egress): State<Egress>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(name): PathSegment<String>,
    JsonBody(body): JsonBody<PutProvider>,
) -> Result<Json<ProviderView>, ApiError> {
    Ok(Json(egress.put_provider(&caller, &name, body).await?))
}

/// Deletes a model provider. Administrators only.
#[utoipa::path(delete, path = "/v1/model-providers/{name}", tag = "models",
    params(("name" = String, Path)),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(egress): State<Egress>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(name): PathSegment<String>,
) -> Result<StatusCode, ApiError> {
    egress.remove_provider(&caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Lists a provider's models as a test, with the credential that the caller's calls would use.
/// Administrators only.
#[utoipa::path(post, path = "/v1/model-providers/{name}/test", tag = "models",
    params(("name" = String, Path)),
    responses((status = 200, body = ProviderTestView), (status = "4XX", body = Problem)))]
async fn test(
    State(egress): State<Egress>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(name): PathSegment<String>,
) -> Result<Json<ProviderTestView>, ApiError> {
    Ok(Json(egress.test_provider(&caller, &name).await?))
}

/// Lists the changes of a provider, newest first. Administrators only.
#[utoipa::path(get, path = "/v1/model-providers/{name}/changes", tag = "models",
    params(("name" = String, Path), PageQuery),
    responses((status = 200, body = Page<ChangeView>), (status = "4XX", body = Problem)))]
async fn changes(
    State(egress): State<Egress>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(name): PathSegment<String>,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<ChangeView>>, ApiError> {
    Ok(Json(egress.list_provider_changes(&caller, &name, &query).await?))
}

/// Lists the models that the caller may use.
#[utoipa::path(get, path = "/v1/brain/models", tag = "models",
    responses((status = 200, body = ModelsView), (status = "4XX", body = Problem)))]
async fn models(
    State(egress): State<Egress>,
    AuthenticatedUser(caller): AuthenticatedUser,
) -> Result<Json<ModelsView>, ApiError> {
    Ok(Json(egress.list_models(&caller).await?))
}
