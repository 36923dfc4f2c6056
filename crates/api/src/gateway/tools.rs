//! Tools and access decisions.

use axum::Json;
use axum::extract::State;
use cynode_ops::access::Access;
use cynode_resources::tools::ToolRegistry;
use cynode_wire::problem::Problem;
use cynode_wire::tools::{
    Approval, ApproveTool, ExplainAccess, ExplainView, ToolDetailView, ToolQuery, ToolView,
    UpdateTool,
};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(update))
        .routes(routes!(approve))
}

pub(crate) fn access_routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(explain))
}

/// Lists the tools that the caller may see.
#[utoipa::path(get, path = "/v1/tools", tag = "tools", params(ToolQuery),
    responses((status = 200, body = Vec<ToolView>), (status = "4XX", body = Problem)))]
async fn list(
    State(registry): State<ToolRegistry>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<ToolQuery>,
) -> Result<Json<Vec<ToolView>>, ApiError> {
    let mut tools = registry.list(&caller).await?;
    tools.retain(|tool| !query.unapproved || tool.approval != Approval::Approved);
    Ok(Json(tools))
}

/// Returns a tool with its definition and, if that changed, the approved definition.
#[utoipa::path(get, path = "/v1/tools/{tool}", tag = "tools",
    params(("tool" = String, Path, description = "name or id")),
    responses((status = 200, body = ToolDetailView), (status = "4XX", body = Problem)))]
async fn get(
    State(registry): State<ToolRegistry>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(tool): PathSegment<String>,
) -> Result<Json<ToolDetailView>, ApiError> {
    Ok(Json(registry.get(&caller, &tool).await?))
}

/// Enables or disables a tool (administrators), or sets its scope (also the owner of its server).
#[utoipa::path(patch, path = "/v1/tools/{tool}", tag = "tools", request_body = UpdateTool,
    params(("tool" = String, Path, description = "name or id")),
    responses((status = 200, body = ToolDetailView), (status = "4XX", body = Problem)))]
async fn update(
    State(registry): State<ToolRegistry>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(tool): PathSegment<String>,
    JsonBody(body): JsonBody<UpdateTool>,
) -> Result<Json<ToolDetailView>, ApiError> {
    Ok(Json(registry.update(&caller, &tool, body).await?))
}

/// Approves a tool's changed definition. Administrators only.
#[utoipa::path(post, path = "/v1/tools/{tool}/approve", tag = "tools", request_body = ApproveTool,
    params(("tool" = String, Path, description = "name or id")),
    responses((status = 200, body = ToolDetailView), (status = "4XX", body = Problem)))]
async fn approve(
    State(registry): State<ToolRegistry>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(tool): PathSegment<String>,
    JsonBody(body): JsonBody<ApproveTool>,
) -> Result<Json<ToolDetailView>, ApiError> {
    Ok(Json(registry.approve(&caller, &tool, body).await?))
}

/// Explains whether a caller may call a tool, stage by stage. Does not call the tool.
#[utoipa::path(post, path = "/v1/access/explain", tag = "tools", request_body = ExplainAccess,
    responses((status = 200, body = ExplainView), (status = "4XX", body = Problem)))]
async fn explain(
    State(access): State<Access>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<ExplainAccess>,
) -> Result<Json<ExplainView>, ApiError> {
    Ok(Json(access.explain(&caller, body).await?))
}
