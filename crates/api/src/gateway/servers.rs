//! Installed MCP servers.

use axum::Json;
use axum::extract::State;
use cynode_ops::servers::Servers;
use cynode_wire::problem::Problem;
use cynode_wire::servers::{InstallServer, ServerView, UpdateServer};
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, Segment};
use crate::identity::User;

pub(crate) fn routes(servers: Servers) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(install))
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(update))
        .routes(routes!(remove))
        .with_state(servers)
}

/// Installs a server for the caller.
#[utoipa::path(post, path = "/v1/servers", tag = "servers", request_body = InstallServer,
    responses((status = 201, body = ServerView), (status = "4XX", body = Problem)))]
async fn install(
    State(servers): State<Servers>,
    User(caller): User,
    Body(body): Body<InstallServer>,
) -> Result<(StatusCode, Json<ServerView>), ApiError> {
    Ok((StatusCode::CREATED, Json(servers.install(&caller, body).await?)))
}

/// The caller's servers, or everybody's for administrators.
#[utoipa::path(get, path = "/v1/servers", tag = "servers",
    responses((status = 200, body = Vec<ServerView>), (status = "4XX", body = Problem)))]
async fn list(
    State(servers): State<Servers>,
    User(caller): User,
) -> Result<Json<Vec<ServerView>>, ApiError> {
    Ok(Json(servers.list(&caller).await?))
}

/// A server, by id or name.
#[utoipa::path(get, path = "/v1/servers/{server}", tag = "servers",
    params(("server" = String, Path, description = "id or name")),
    responses((status = 200, body = ServerView), (status = "4XX", body = Problem)))]
async fn get(
    State(servers): State<Servers>,
    User(caller): User,
    Segment(server): Segment<String>,
) -> Result<Json<ServerView>, ApiError> {
    Ok(Json(servers.get(&caller, &server).await?))
}

/// Changes a server, or turns it on or off: its owner, or an administrator.
#[utoipa::path(patch, path = "/v1/servers/{server}", tag = "servers", request_body = UpdateServer,
    params(("server" = String, Path, description = "id or name")),
    responses((status = 200, body = ServerView), (status = "4XX", body = Problem)))]
async fn update(
    State(servers): State<Servers>,
    User(caller): User,
    Segment(server): Segment<String>,
    Body(body): Body<UpdateServer>,
) -> Result<Json<ServerView>, ApiError> {
    Ok(Json(servers.update(&caller, &server, body).await?))
}

/// Removes a server and its tools: its owner, or an administrator.
#[utoipa::path(delete, path = "/v1/servers/{server}", tag = "servers",
    params(("server" = String, Path, description = "id or name")),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(servers): State<Servers>,
    User(caller): User,
    Segment(server): Segment<String>,
) -> Result<StatusCode, ApiError> {
    servers.remove(&caller, &server).await?;
    Ok(StatusCode::NO_CONTENT)
}
