//! Tools, and whether they may be called.

use axum::Json;
use axum::extract::State;
use cynode_ops::access::Access;
use cynode_ops::tools::Registry;
use cynode_wire::problem::Problem;
use cynode_wire::tools::{
    ApproveTool, ExplainAccess, ExplainView, ToolDetailView, ToolView, UpdateTool,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Body, Segment};
use crate::identity::User;

pub(crate) fn routes(registry: Registry) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(update))
        .routes(routes!(approve))
        .with_state(registry)
}

pub(crate) fn access_routes(access: Access) -> OpenApiRouter {
    OpenApiRouter::new().routes(routes!(explain)).with_state(access)
}

/// Every tool that the caller may see.
#[utoipa::path(get, path = "/v1/tools", tag = "tools",
    responses((status = 200, body = Vec<ToolView>), (status = "4XX", body = Problem)))]
async fn list(
    State(registry): State<Registry>,
    User(caller): User,
) -> Result<Json<Vec<ToolView>>, ApiError> {
    Ok(Json(registry.list(&caller).await?))
}

/// A tool with its definition and, if that changed, the one that was approved.
#[utoipa::path(get, path = "/v1/tools/{tool}", tag = "tools",
    params(("tool" = String, Path, description = "its name")),
    responses((status = 200, body = ToolDetailView), (status = "4XX", body = Problem)))]
async fn get(
    State(registry): State<Registry>,
    User(caller): User,
    Segment(tool): Segment<String>,
) -> Result<Json<ToolDetailView>, ApiError> {
    Ok(Json(registry.get(&caller, &tool).await?))
}

/// Turns a tool on or off (administrators), or sets where it may be called from (also its owner).
#[utoipa::path(patch, path = "/v1/tools/{tool}", tag = "tools", request_body = UpdateTool,
    params(("tool" = String, Path, description = "its name")),
    responses((status = 200, body = ToolDetailView), (status = "4XX", body = Problem)))]
async fn update(
    State(registry): State<Registry>,
    User(caller): User,
    Segment(tool): Segment<String>,
    Body(body): Body<UpdateTool>,
) -> Result<Json<ToolDetailView>, ApiError> {
    Ok(Json(registry.update(&caller, &tool, body).await?))
}

/// Approves a tool's changed definition. Administrators only.
#[utoipa::path(post, path = "/v1/tools/{tool}/approve", tag = "tools", request_body = ApproveTool,
    params(("tool" = String, Path, description = "its name")),
    responses((status = 200, body = ToolDetailView), (status = "4XX", body = Problem)))]
async fn approve(
    State(registry): State<Registry>,
    User(caller): User,
    Segment(tool): Segment<String>,
    Body(body): Body<ApproveTool>,
) -> Result<Json<ToolDetailView>, ApiError> {
    Ok(Json(registry.approve(&caller, &tool, body).await?))
}

/// Whether somebody could call a tool, and what each stage says. Nothing is called.
#[utoipa::path(post, path = "/v1/access/explain", tag = "tools", request_body = ExplainAccess,
    responses((status = 200, body = ExplainView), (status = "4XX", body = Problem)))]
async fn explain(
    State(access): State<Access>,
    User(caller): User,
    Body(body): Body<ExplainAccess>,
) -> Result<Json<ExplainView>, ApiError> {
    Ok(Json(access.explain(&caller, body).await?))
}
