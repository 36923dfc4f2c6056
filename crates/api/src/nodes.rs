//! Worker nodes, for users.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::{NodeId, TokenId};
use cynode_domain::name_or_id::NameOrId;
use cynode_execution::NodeService;
use cynode_wire::nodes::{CreateJoinToken, JoinTokenView, NewJoinTokenView, NodeView};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::problem::Problem;
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
        .routes(routes!(get, remove))
        .routes(routes!(join_token_create, join_token_list))
        .routes(routes!(join_token_revoke))
        .routes(routes!(rotate_key))
        .routes(routes!(drain))
        .routes(routes!(enable))
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

/// Revokes the key and the token of a worker node; the response has the only join token that registers it again.
/// Administrators only.
#[utoipa::path(post, path = "/v1/nodes/{node}/rotate-key", tag = "nodes",
    params(("node" = String, Path, description = "id or name")),
    responses((status = 201, body = NewJoinTokenView), (status = "4XX", body = Problem)))]
async fn rotate_key(
    State(nodes): State<NodeService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(node): PathSegment<NameOrId<NodeId>>,
) -> Result<(StatusCode, Json<NewJoinTokenView>), ApiError> {
    Ok((StatusCode::CREATED, Json(nodes.rotate_key(&caller, &node).await?)))
}

/// Removes a worker node without open jobs; its key and token are revoked. Administrators only.
#[utoipa::path(delete, path = "/v1/nodes/{node}", tag = "nodes",
    params(("node" = String, Path, description = "id or name")),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(nodes): State<NodeService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(node): PathSegment<NameOrId<NodeId>>,
) -> Result<StatusCode, ApiError> {
    nodes.remove(&caller, &node).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Creates a one-time join token for a worker node. Administrators only. Only this response contains its secret.
#[utoipa::path(post, path = "/v1/nodes/join-tokens", tag = "nodes", request_body = CreateJoinToken,
    responses((status = 201, body = NewJoinTokenView), (status = "4XX", body = Problem)))]
async fn join_token_create(
    State(nodes): State<NodeService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<CreateJoinToken>,
) -> Result<(StatusCode, Json<NewJoinTokenView>), ApiError> {
    Ok((StatusCode::CREATED, Json(nodes.join_token_create(&caller, body).await?)))
}

/// Lists the one-time join tokens, newest first. Administrators only.
#[utoipa::path(get, path = "/v1/nodes/join-tokens", tag = "nodes", params(PageQuery),
    responses((status = 200, body = Page<JoinTokenView>), (status = "4XX", body = Problem)))]
async fn join_token_list(
    State(nodes): State<NodeService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<JoinTokenView>>, ApiError> {
    Ok(Json(nodes.join_token_list(&caller, &query).await?))
}

/// Revokes a one-time join token. Administrators only.
#[utoipa::path(delete, path = "/v1/nodes/join-tokens/{token}", tag = "nodes",
    params(("token" = TokenId, Path)),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn join_token_revoke(
    State(nodes): State<NodeService>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(token): PathSegment<TokenId>,
) -> Result<StatusCode, ApiError> {
    nodes.join_token_revoke(&caller, token).await?;
    Ok(StatusCode::NO_CONTENT)
}
