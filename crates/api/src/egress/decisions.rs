//! The record of what the project manager decided.

use axum::Json;
use axum::extract::State;
use cynode_ops::decisions::Decisions;
use cynode_wire::decisions::{DecisionQuery, PastDecisionView};
use cynode_wire::page::Page;
use cynode_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::Params;
use crate::identity::User;

pub(crate) fn routes(decisions: Decisions) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(list)).with_state(decisions)
}

/// What the project manager decided, newest first: for oneself, or for everybody for
/// administrators.
#[utoipa::path(get, path = "/v1/brain/decisions", tag = "models",
    params(DecisionQuery),
    responses((status = 200, body = Page<PastDecisionView>), (status = "4XX", body = Problem)))]
async fn list(
    State(decisions): State<Decisions>,
    User(caller): User,
    Params(query): Params<DecisionQuery>,
) -> Result<Json<Page<PastDecisionView>>, ApiError> {
    Ok(Json(decisions.list(&caller, query).await?))
}
