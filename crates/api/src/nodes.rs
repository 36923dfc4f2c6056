//! Worker nodes, for users.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::NodeId;
use cynode_domain::name_or_id::NameOrId;
use cynode_execution::NodeService;
use cynode_wire::nodes::NodeView;
use cynode_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::PathSegment;
use crate::identity::AuthenticatedUser;

pub(crate) fn routes(nodes: NodeService) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(drain))
        .routes(routes!(enable))
        .with_state(nodes)
}

/// Lists the worker nodes.
#[utoipa::path(get, path = "/v1/nodes", tag = "nodes",
    responses((status = 200, body = Vec<NodeView>), (status = "4XX", body = Problem)))]
async fn list(
    State(nodes): State<NodeService>,
    _: AuthenticatedUser,
) -> Result<Json<Vec<NodeView>>, ApiError> {
    Ok(Json(nodes.list().await?))
}

/// Returns a worker node by id or name.
#[utoipa::path(get, path = "/v1/nodes/{node}", tag = "nodes",
    params(("node" = String, Path, description = "id or name")),
    responses((status = 200, body = NodeView), (status = "4XX", body = Problem)))]
async fn get(
    State(nodes): State<NodeService>,
    _: AuthenticatedUser,
    PathSegment(node): PathSegment<NameOrId<NodeId>>,
) -> Result<Json<NodeView>, ApiError> {
    Ok(Json(nodes.get(&node).await?))
}

/// Drains a worker node: it finishes its jobs and gets no new ones. Administrators only.
#[utoipa::path(post, path = "/v1/nodes/{node}/drain", tag = "nodes",
    params(("node" = String, Path, description = "id or name")),
    responses((status = 200, body = NodeView), (status = "4XX", body = Problem)))]
async fn drain(
    State(nodes): State<NodeService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(node): PathSegment<NameOrId<NodeId>>,
) -> Result<Json<NodeView>, ApiError> {
    Ok(Json(nodes.drain(&caller, &node).await?))
}

/// Enables a drained worker node. Administrators only.
#[utoipa::path(post, path = "/v1/nodes/{node}/enable", tag = "nodes",
    params(("node" = String, Path, description = "id or name")),
    responses((status = 200, body = NodeView), (status = "4XX", body = Problem)))]
async fn enable(
    State(nodes): State<NodeService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(node): PathSegment<NameOrId<NodeId>>,
) -> Result<Json<NodeView>, ApiError> {
    Ok(Json(nodes.enable(&caller, &node).await?))
}
