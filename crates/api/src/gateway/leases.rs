//! Capability leases.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::CapabilityLeaseId;
use cynode_ops::capability_leases::CapabilityLeases;
use cynode_wire::capability_leases::{CapabilityLeaseView, LeaseKeyView};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::problem::Problem;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(list)).routes(routes!(revoke)).routes(routes!(rotate_key))
}

/// Lists capability leases, newest first: the caller's own, or all for administrators.
#[utoipa::path(get, path = "/v1/capability-leases", tag = "capability leases",
    params(PageQuery),
    responses((status = 200, body = Page<CapabilityLeaseView>), (status = "4XX", body = Problem)))]
async fn list(
    State(leases): State<CapabilityLeases>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<CapabilityLeaseView>>, ApiError> {
    Ok(Json(leases.list(&caller, &query).await?))
}

/// Revokes a capability lease. Its worker node learns it with its next report, within seconds.
#[utoipa::path(delete, path = "/v1/capability-leases/{lease}", tag = "capability leases",
    params(("lease" = CapabilityLeaseId, Path)),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn revoke(
    State(leases): State<CapabilityLeases>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(lease): PathSegment<CapabilityLeaseId>,
) -> Result<StatusCode, ApiError> {
    leases.revoke(&caller, lease).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Replaces the key that signs capability leases. Leases of the old key are valid until they end. For administrators.
#[utoipa::path(post, path = "/v1/capability-leases/rotate-key", tag = "capability leases",
    responses((status = 200, body = LeaseKeyView), (status = "4XX", body = Problem)))]
async fn rotate_key(
    State(leases): State<CapabilityLeases>,
    AuthenticatedUser(caller): AuthenticatedUser,
) -> Result<Json<LeaseKeyView>, ApiError> {
    Ok(Json(leases.rotate_key(&caller).await?))
}
