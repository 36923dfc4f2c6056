//! The audit log: tool calls, chat requests and access changes.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::CallId;
use cynode_resources::audit::AuditLog;
use cynode_wire::audit::{
    AuditHeadView, AuditQuery, CallView, ChatRecordQuery, ChatRecordView, VerifyQuery, VerifyView,
};
use cynode_wire::changes::{ChangeQuery, ChangeView};
use cynode_wire::page::Page;
use cynode_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{PathSegment, QueryParams};
use crate::identity::AuthenticatedUser;
use crate::state::ApiState;

pub(crate) fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(head))
        .routes(routes!(verify))
        .routes(routes!(changes))
        .routes(routes!(chats))
}

/// Lists tool calls, newest first: those made for the caller, or all for administrators.
#[utoipa::path(get, path = "/v1/audit/calls", tag = "audit",
    params(AuditQuery),
    responses((status = 200, body = Page<CallView>), (status = "4XX", body = Problem)))]
async fn list(
    State(audit): State<AuditLog>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<AuditQuery>,
) -> Result<Json<Page<CallView>>, ApiError> {
    Ok(Json(audit.list(&caller, query).await?))
}

/// Returns a tool call.
#[utoipa::path(get, path = "/v1/audit/calls/{call}", tag = "audit",
    params(("call" = CallId, Path)),
    responses((status = 200, body = CallView), (status = "4XX", body = Problem)))]
async fn get(
    State(audit): State<AuditLog>,
    AuthenticatedUser(caller): AuthenticatedUser,
    PathSegment(call): PathSegment<CallId>,
) -> Result<Json<CallView>, ApiError> {
    Ok(Json(audit.get(&caller, call).await?))
}

/// Returns the newest record of every audit chain, to be kept elsewhere. Administrators only.
#[utoipa::path(get, path = "/v1/audit/head", tag = "audit",
    responses((status = 200, body = AuditHeadView), (status = "4XX", body = Problem)))]
async fn head(
    State(audit): State<AuditLog>,
    AuthenticatedUser(caller): AuthenticatedUser,
) -> Result<Json<AuditHeadView>, ApiError> {
    Ok(Json(audit.head(&caller).await?))
}

/// Verifies every record of every audit chain, or those after a head that was kept elsewhere. Administrators only.
#[utoipa::path(get, path = "/v1/audit/verify", tag = "audit",
    params(VerifyQuery),
    responses((status = 200, body = VerifyView), (status = "4XX", body = Problem)))]
async fn verify(
    State(audit): State<AuditLog>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<VerifyQuery>,
) -> Result<Json<VerifyView>, ApiError> {
    Ok(Json(audit.verify(&caller, query.since.as_deref()).await?))
}

/// Lists changes of rules, credentials, providers, servers, tools, groups and agent profiles, newest first.
/// Administrators only.
#[utoipa::path(get, path = "/v1/audit/changes", tag = "audit",
    params(ChangeQuery),
    responses((status = 200, body = Page<ChangeView>), (status = "4XX", body = Problem)))]
async fn changes(
    State(audit): State<AuditLog>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<ChangeQuery>,
) -> Result<Json<Page<ChangeView>>, ApiError> {
    Ok(Json(audit.changes(&caller, query).await?))
}

/// Lists the outcomes of chat requests, newest first: the caller's own, or all for administrators.
#[utoipa::path(get, path = "/v1/audit/chat", tag = "audit",
    params(ChatRecordQuery),
    responses((status = 200, body = Page<ChatRecordView>), (status = "4XX", body = Problem)))]
async fn chats(
    State(audit): State<AuditLog>,
    AuthenticatedUser(caller): AuthenticatedUser,
    QueryParams(query): QueryParams<ChatRecordQuery>,
) -> Result<Json<Page<ChatRecordView>>, ApiError> {
    Ok(Json(audit.list_chats(&caller, query).await?))
}
