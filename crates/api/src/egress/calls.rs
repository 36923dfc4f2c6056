//! The record of calls to models.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::InferenceId;
use cynode_ops::egress::Egress;
use cynode_wire::inferences::{InferenceDetailView, InferenceQuery, InferencesView};
use cynode_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Params, Segment};
use crate::identity::User;

pub(crate) fn routes(egress: Egress) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(get)).with_state(egress)
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

/// One call to a model, and what was decided about it: by which rule, and with which credential.
#[utoipa::path(get, path = "/v1/brain/calls/{call}", tag = "models",
    params(("call" = InferenceId, Path)),
    responses((status = 200, body = InferenceDetailView), (status = "4XX", body = Problem)))]
async fn get(
    State(egress): State<Egress>,
    User(caller): User,
    Segment(call): Segment<InferenceId>,
) -> Result<Json<InferenceDetailView>, ApiError> {
    Ok(Json(egress.call(&caller, call).await?))
}
