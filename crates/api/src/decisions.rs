//! Recorded decisions of the project manager.

use axum::Json;
use axum::extract::State;
use cynode_models::decisions::DecisionRecords;
use cynode_wire::decisions::{DecisionQuery, PastDecisionView};
use cynode_wire::page::Page;
use cynode_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::QueryParams;
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list))
}

/// Lists the project manager's decisions, newest first: the caller's own, or all for
/// administrators.
#[utoipa::path(get, path = "/v1/brain/decisions", tag = "models",
    params(DecisionQuery),
    responses((status = 200, body = Page<PastDecisionView>), (status = "4XX", body = Problem)))]
async fn list(
    State(decisions): State<DecisionRecords>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<DecisionQuery>,
) -> Result<Json<Page<PastDecisionView>>, ApiError> {
    Ok(Json(decisions.list(&caller, query).await?))
}
