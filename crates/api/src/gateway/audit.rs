//! The record of tool calls, of chats, and of changes of what access is decided by.

use axum::Json;
use axum::extract::State;
use cynode_domain::ids::CallId;
use cynode_ops::audit::AuditLog;
use cynode_wire::audit::{AuditQuery, CallView, ChatRecordQuery, ChatRecordView, VerifyView};
use cynode_wire::changes::{ChangeQuery, ChangeView};
use cynode_wire::page::Page;
use cynode_wire::problem::Problem;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::error::ApiError;
use crate::extract::{Params, Segment};
use crate::identity::User;

pub(crate) fn routes(audit: AuditLog) -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(get))
        .routes(routes!(verify))
        .routes(routes!(changes))
        .routes(routes!(chats))
        .with_state(audit)
}

/// Tool calls, newest first: those made for the caller, or all for administrators.
#[utoipa::path(get, path = "/v1/audit/calls", tag = "audit",
    params(AuditQuery),
    responses((status = 200, body = Page<CallView>), (status = "4XX", body = Problem)))]
async fn list(
    State(audit): State<AuditLog>,
    User(caller): User,
    Params(query): Params<AuditQuery>,
) -> Result<Json<Page<CallView>>, ApiError> {
    Ok(Json(audit.list(&caller, query).await?))
}

/// One tool call.
#[utoipa::path(get, path = "/v1/audit/calls/{call}", tag = "audit",
    params(("call" = CallId, Path)),
    responses((status = 200, body = CallView), (status = "4XX", body = Problem)))]
async fn get(
    State(audit): State<AuditLog>,
    User(caller): User,
    Segment(call): Segment<CallId>,
) -> Result<Json<CallView>, ApiError> {
    Ok(Json(audit.get(&caller, call).await?))
}

/// Looks at every record of every chain. Administrators only.
#[utoipa::path(get, path = "/v1/audit/verify", tag = "audit",
    responses((status = 200, body = VerifyView), (status = "4XX", body = Problem)))]
async fn verify(
    State(audit): State<AuditLog>,
    User(caller): User,
) -> Result<Json<VerifyView>, ApiError> {
    Ok(Json(audit.verify(&caller).await?))
}

/// Who changed what access is decided by, newest first: rules, credentials, providers, servers, tools
/// and groups. Administrators only.
#[utoipa::path(get, path = "/v1/audit/changes", tag = "audit",
    params(ChangeQuery),
    responses((status = 200, body = Page<ChangeView>), (status = "4XX", body = Problem)))]
async fn changes(
    State(audit): State<AuditLog>,
    User(caller): User,
    Params(query): Params<ChangeQuery>,
) -> Result<Json<Page<ChangeView>>, ApiError> {
    Ok(Json(audit.changes(&caller, query).await?))
}

/// How requests to chat went, newest first: the caller's own, or everybody's for administrators.
#[utoipa::path(get, path = "/v1/audit/chat", tag = "audit",
    params(ChatRecordQuery),
    responses((status = 200, body = Page<ChatRecordView>), (status = "4XX", body = Problem)))]
async fn chats(
    State(audit): State<AuditLog>,
    User(caller): User,
    Params(query): Params<ChatRecordQuery>,
) -> Result<Json<Page<ChatRecordView>>, ApiError> {
    Ok(Json(audit.chats(&caller, query).await?))
}
