//! Agent tokens.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::TokenId;
use cynode_resources::agents::AgentTokens;
use cynode_wire::agents::{AgentTokenView, IssueAgentToken, NewAgentTokenView};
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
    OpenApiRouter::new().routes(routes!(issue)).routes(routes!(list)).routes(routes!(revoke))
}

/// Issues an agent token. Only this response contains its secret.
#[utoipa::path(post, path = "/v1/agent-tokens", tag = "agents", request_body = IssueAgentToken,
    responses((status = 201, body = NewAgentTokenView), (status = "4XX", body = Problem)))]
async fn issue(
    State(agents): State<AgentTokens>,
    AuthenticatedUser(caller): AuthenticatedUser,
    JsonBody(body): JsonBody<IssueAgentToken>,
) -> Result<(StatusCode, Json<NewAgentTokenView>), ApiError> {
    Ok((StatusCode::CREATED, Json(agents.issue(&caller, body).await?)))
}

/// Lists agent tokens, newest first: the caller's own, or all for administrators.
#[utoipa::path(get, path = "/v1/agent-tokens", tag = "agents",
    params(PageQuery),
    responses((status = 200, body = Page<AgentTokenView>), (status = "4XX", body = Problem)))]
async fn list(
    State(agents): State<AgentTokens>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<PageQuery>,
) -> Result<Json<Page<AgentTokenView>>, ApiError> {
    Ok(Json(agents.list(&caller, &query).await?))
}

/// Revokes an agent token.
#[utoipa::path(delete, path = "/v1/agent-tokens/{token}", tag = "agents",
    params(("token" = TokenId, Path)),
    responses((status = 204), (status = "4XX", body = Problem)))]
async fn revoke(
    State(agents): State<AgentTokens>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(token): PathSegment<TokenId>,
) -> Result<StatusCode, ApiError> {
    agents.revoke(&caller, token).await?;
    Ok(StatusCode::NO_CONTENT)
}
