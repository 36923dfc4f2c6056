//! Installed MCP servers.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::ServerId;
use cynode_domain::name_or_id::NameOrId;
use cynode_resources::servers::InstalledServers;
use cynode_wire::problem::Problem;
use cynode_wire::servers::{InstallServer, ServerView, UpdateServer};
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(install))
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(update))
        .routes(routes!(remove))
}

/// Installs an MCP server for the caller, or for all users.
#[utoipa::path(post, path = "/v1/servers", tag = "servers", request_body = InstallServer,
    responses((status = 201, body = ServerView), (status = "4XX", body = Problem)))]
async fn install(
    State(servers): State<InstalledServers>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<InstallServer>,
) -> Result<(StatusCode, Json<ServerView>), ApiError> {
    Ok((StatusCode::CREATED, Json(servers.install(&caller, body).await?)))
}

/// Lists the caller's servers, or all for administrators.
#[utoipa::path(get, path = "/v1/servers", tag = "servers",
    responses((status = 200, body = Vec<ServerView>), (status = "4XX", body = Problem)))]
async fn list(
    State(servers): State<InstalledServers>,
    AuthenticatedUser(caller): AuthenticatedUser,
) -> Result<Json<Vec<ServerView>>, ApiError> {
    Ok(Json(servers.list(&caller).await?))
}

/// Returns a server by id or name.
#[utoipa::path(get, path = "/v1/servers/{server}", tag = "servers",
    params(("server" = String, Path, description = "id or name")),
    responses((status = 200, body = ServerView), (status = "4XX", body = Problem)))]
async fn get(
    State(servers): State<InstalledServers>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(server): PathSegment<NameOrId<ServerId>>,
) -> Result<Json<ServerView>, ApiError> {
    Ok(Json(servers.get(&caller, &server).await?))
}

/// Renames, changes, enables or disables a server. For its owner or an administrator.
#[utoipa::path(patch, path = "/v1/servers/{server}", tag = "servers", request_body = UpdateServer,
    params(("server" = String, Path, description = "id or name")),
    responses((status = 200, body = ServerView), (status = "4XX", body = Problem)))]
async fn update(
    State(servers): State<InstalledServers>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(server): PathSegment<NameOrId<ServerId>>,
    JsonBody(body): JsonBody<UpdateServer>,
) -> Result<Json<ServerView>, ApiError> {
    Ok(Json(servers.update(&caller, &server, body).await?))
}

/// Deletes a server and its tools. For its owner or an administrator.
#[utoipa::path(delete, path = "/v1/servers/{server}", tag = "servers",
    params(("server" = String, Path, description = "id or name")),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(servers): State<InstalledServers>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(server): PathSegment<NameOrId<ServerId>>,
) -> Result<StatusCode, ApiError> {
    servers.remove(&caller, &server).await?;
    Ok(StatusCode::NO_CONTENT)
}
