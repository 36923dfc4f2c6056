//! The record of calls to models.

use axum::Json;
use axum::extract::State;
use cynode_ops::egress::Egress;
use cynode_wire::inferences::{InferenceQuery, InferencesView};
use cynode_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::Params;
use crate::identity::User;

pub(crate) fn routes(egress: Egress) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(list)).with_state(egress)
}

/// Calls to models, newest first, and what all of them cost: one's own, or everybody's for
/// administrators.
#[utoipa::path(get, path = "/v1/brain/calls", tag = "models",
    params(InferenceQuery),
    responses((status = 200, body = InferencesView), (status = "4XX", body = Problem)))]
async fn list(
    State(egress): State<Egress>,
    User(caller): User,
    Params(query): Params<InferenceQuery>,
) -> Result<Json<InferencesView>, ApiError> {
    Ok(Json(egress.calls(&caller, query).await?))
}
