//! Agent profiles, and their canary runs.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::{IncarnationId, JobId};
use cynode_ops::AgentProfiles;
use cynode_wire::agent_profiles::{
    AgentProfileView, CanaryReport, CreateAgentProfile, StartCanary, StartedCanariesView,
    UpdateAgentProfile,
};
use cynode_wire::problem::Problem;
use http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{JsonBody, PathSegment};
use crate::identity::{AuthenticatedNode, AuthenticatedUser};
use crate::state::ApiState;

/// Routes for users.
pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(get, update, remove))
        .routes(routes!(start_canary))
}

/// Routes for registered nodes.
pub(crate) fn node_routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(report_canary))
}

/// Lists the agent profiles by name, with the newest canary run of their revision on each worker node.
#[utoipa::path(get, path = "/v1/agent-profiles", tag = "agent profiles",
    responses((status = 200, body = Vec<AgentProfileView>), (status = "4XX", body = Problem)))]
async fn list(
    State(profiles): State<AgentProfiles>,
    _: AuthenticatedUser,
) -> Result<Json<Vec<AgentProfileView>>, ApiError> {
    Ok(Json(profiles.list().await?))
}

/// Returns an agent profile, with all checks of its canary runs.
#[utoipa::path(get, path = "/v1/agent-profiles/{profile}", tag = "agent profiles",
    params(("profile" = String, Path, description = "name")),
    responses((status = 200, body = AgentProfileView), (status = "4XX", body = Problem)))]
async fn get(
    State(profiles): State<AgentProfiles>,
    _: AuthenticatedUser,
    PathSegment(profile): PathSegment<String>,
) -> Result<Json<AgentProfileView>, ApiError> {
    Ok(Json(profiles.get(&profile).await?))
}

/// Defines an agent profile. Administrators only. Tasks can use it on the worker nodes that pass its canary run.
#[utoipa::path(post, path = "/v1/agent-profiles", tag = "agent profiles", request_body = CreateAgentProfile,
    responses((status = 201, body = AgentProfileView), (status = "4XX", body = Problem)))]
async fn create(
    State(profiles): State<AgentProfiles>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<CreateAgentProfile>,
) -> Result<(StatusCode, Json<AgentProfileView>), ApiError> {
    Ok((StatusCode::CREATED, Json(profiles.create(&caller, body).await?)))
}

/// Replaces an agent profile with a new revision, which needs canary runs of its own. Administrators only. 409: it was
/// changed meanwhile.
#[utoipa::path(put, path = "/v1/agent-profiles/{profile}", tag = "agent profiles", request_body = UpdateAgentProfile,
    params(("profile" = String, Path, description = "name")),
    responses((status = 200, body = AgentProfileView), (status = "4XX", body = Problem)))]
async fn update(
    State(profiles): State<AgentProfiles>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(profile): PathSegment<String>,
    JsonBody(body): JsonBody<UpdateAgentProfile>,
) -> Result<Json<AgentProfileView>, ApiError> {
    Ok(Json(profiles.update(&caller, &profile, body).await?))
}

/// Deletes an agent profile. Steps that wait for it fail. Administrators only.
#[utoipa::path(delete, path = "/v1/agent-profiles/{profile}", tag = "agent profiles",
    params(("profile" = String, Path, description = "name")),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn remove(
    State(profiles): State<AgentProfiles>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(profile): PathSegment<String>,
) -> Result<StatusCode, ApiError> {
    profiles.remove(&caller, &profile).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Starts the canary run of an agent profile on a worker node, or on every active one: one task for each. Administrators
/// only. 409: no node can run it.
#[utoipa::path(post, path = "/v1/agent-profiles/{profile}/canary", tag = "agent profiles", request_body = StartCanary,
    params(("profile" = String, Path, description = "name")),
    responses((status = 201, body = StartedCanariesView), (status = "4XX", body = Problem)))]
async fn start_canary(
    State(profiles): State<AgentProfiles>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(profile): PathSegment<String>,
    JsonBody(body): JsonBody<StartCanary>,
) -> Result<(StatusCode, Json<StartedCanariesView>), ApiError> {
    Ok((StatusCode::CREATED, Json(profiles.start_canary(&caller, &profile, body).await?)))
}

/// Reports what a canary run showed, before the result of its job. The newest report of a node decides whether it gets jobs
/// of the profile's revision.
#[utoipa::path(put, path = "/v1/node/jobs/{job}/canary", tag = "node api", request_body = CanaryReport,
    params(("job" = JobId, Path),
        ("x-cynode-incarnation" = IncarnationId, Header, description = "the process that holds the job")),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn report_canary(
    State(profiles): State<AgentProfiles>,
    AuthenticatedNode(node): AuthenticatedNode,
    PathSegment(job): PathSegment<JobId>,
    JsonBody(body): JsonBody<CanaryReport>,
) -> Result<StatusCode, ApiError> {
    profiles.report_canary(&node, job, body).await?;
    Ok(StatusCode::NO_CONTENT)
}
