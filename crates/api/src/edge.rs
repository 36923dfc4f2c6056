//! Reports of the MCP servers of worker nodes.

use axum::Json;
use axum::extract::{DefaultBodyLimit, State};
use cynode_domain::ids::IncarnationId;
use cynode_ops::capability_leases::EdgeSync;
use cynode_wire::capability_leases::{EdgeView, MAX_RECORD_BYTES, MAX_RECORDS, SyncEdge};
use cynode_wire::problem::Problem;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouterExt};
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::JsonBody;
use crate::identity::AuthenticatedNode;
use crate::state::ApiState;

/// Routes for registered nodes.
pub(crate) fn node_routes() -> OpenApiRouter<ApiState> {
    let limit = DefaultBodyLimit::max(MAX_RECORDS * MAX_RECORD_BYTES);
    OpenApiRouter::new().routes(routes!(sync).layer(limit))
}

/// Stores audit records of calls that the node decided, each once; returns the keys that it trusts and the leases that were
/// revoked.
#[utoipa::path(post, path = "/v1/node/edge", tag = "node api", request_body = SyncEdge,
    params(("x-cynode-incarnation" = IncarnationId, Header, description = "the calling process")),
    responses((status = 200, body = EdgeView), (status = "4XX", body = Problem)))]
async fn sync(
    State(edge): State<EdgeSync>,
    AuthenticatedNode(node): AuthenticatedNode,
    JsonBody(body): JsonBody<SyncEdge>,
) -> Result<Json<EdgeView>, ApiError> {
    Ok(Json(edge.sync(&node, body).await?))
}
