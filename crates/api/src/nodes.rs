//! Worker nodes, for people.

use axum::Json;
use axum::extract::State;
use cynode_ops::Nodes;
use cynode_wire::nodes::NodeView;
use cynode_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::Segment;
use crate::identity::User;

pub(crate) fn routes(nodes: Nodes) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(drain))
        .routes(routes!(enable))
        .with_state(nodes)
}

/// Every node.
#[utoipa::path(get, path = "/v1/nodes", tag = "nodes",
    responses((status = 200, body = Vec<NodeView>), (status = "4XX", body = Problem)))]
async fn list(State(nodes): State<Nodes>, _: User) -> Result<Json<Vec<NodeView>>, ApiError> {
    Ok(Json(nodes.list().await?))
}

/// A node, by id or name.
#[utoipa::path(get, path = "/v1/nodes/{node}", tag = "nodes",
    params(("node" = String, Path, description = "id or name")),
    responses((status = 200, body = NodeView), (status = "4XX", body = Problem)))]
async fn get(
    State(nodes): State<Nodes>,
    _: User,
    Segment(node): Segment<String>,
) -> Result<Json<NodeView>, ApiError> {
    Ok(Json(nodes.get(&node).await?))
}

/// Lets a node finish what it has and gives it nothing new. Administrators only.
#[utoipa::path(post, path = "/v1/nodes/{node}/drain", tag = "nodes",
    params(("node" = String, Path, description = "id or name")),
    responses((status = 200, body = NodeView), (status = "4XX", body = Problem)))]
async fn drain(
    State(nodes): State<Nodes>,
    User(caller): User,
    Segment(node): Segment<String>,
) -> Result<Json<NodeView>, ApiError> {
    Ok(Json(nodes.drain(&caller, &node).await?))
}

/// Puts a node back to work. Administrators only.
#[utoipa::path(post, path = "/v1/nodes/{node}/enable", tag = "nodes",
    params(("node" = String, Path, description = "id or name")),
    responses((status = 200, body = NodeView), (status = "4XX", body = Problem)))]
async fn enable(
    State(nodes): State<Nodes>,
    User(caller): User,
    Segment(node): Segment<String>,
) -> Result<Json<NodeView>, ApiError> {
    Ok(Json(nodes.enable(&caller, &node).await?))
}
