//! Recorded model calls.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::InferenceId;
use cynode_models::egress::Egress;
use cynode_wire::inferences::{InferenceDetailView, InferenceQuery, InferencesView};
use cynode_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(get))
}

/// Lists model calls, newest first, with their total cost: the caller's own, or all for
/// administrators.
#[utoipa::path(get, path = "/v1/brain/calls", tag = "models",
    params(InferenceQuery),
    responses((status = 200, body = InferencesView), (status = "4XX", body = Problem)))]
async fn list(
    State(egress): State<Egress>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<InferenceQuery>,
) -> Result<Json<InferencesView>, ApiError> {
    Ok(Json(egress.list_calls(&caller, query).await?))
}

/// Returns a model call with the rule that decided it and the credential it used.
#[utoipa::path(get, path = "/v1/brain/calls/{call}", tag = "models",
    params(("call" = InferenceId, Path)),
    responses((status = 200, body = InferenceDetailView), (status = "4XX", body = Problem)))]
async fn get(
    State(egress): State<Egress>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(call): PathSegment<InferenceId>,
) -> Result<Json<InferenceDetailView>, ApiError> {
    Ok(Json(egress.call(&caller, call).await?))
}
