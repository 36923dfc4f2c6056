//! `POST /mcp`: one message.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use cynode_domain::ids::TraceId;
use cynode_domain::policy::{ErrorKind, Stage};
use cynode_resources::audit::ToolCallRecord;
use cynode_resources::request_limits::Requester;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::value::RawValue;
use tracing::error;

use super::admission::{
    SharedPermit, TOKEN_RATE_EXCEEDED, hold_permit, limit_response, rate_limited,
};
use super::dispatch::DispatchedMessage;
use super::{guard, metadata, response};
use crate::McpGateway;
use crate::identity::Identity;
use crate::identity::TokenHash;
use crate::invoke::truncate_name;
use crate::pipeline;
use crate::rejections::RejectionReason;
use crate::resolution::resolve_tool;
use crate::sessions::GatewaySession;
use crate::snapshot::PolicyTool;
use cynode_upstream::interface::ClientDescription;
use cynode_upstream::protocol;
use cynode_upstream::protocol::StatelessMeta;
use cynode_upstream::rpc;
use cynode_upstream::rpc::ClientMessage;
use cynode_upstream::rpc::INTERNAL_ERROR;
use cynode_upstream::rpc::INVALID_REQUEST;
use cynode_upstream::rpc::RawFields;
use cynode_upstream::rpc::RpcError;

/// Allowance for a message beside its arguments.
const ENVELOPE_BYTES: u64 = 64 * 1024;

/// An authenticated HTTP request whose message is not parsed yet.
pub(super) struct AuthenticatedRequest {
    pub(super) gateway: McpGateway,
    pub(super) token: TokenHash,
    pub(super) identity: Arc<Identity>,
    /// The slug of the server at `/mcp/<server>`; `None` at `/mcp`.
    pub(super) server_slug: Option<String>,
    pub(super) headers: HeaderMap,
    /// Set once the request is admitted.
    pub(super) permit: OnceLock<SharedPermit>,
}

impl AuthenticatedRequest {
    /// Counts this request as rejected; such requests have no record of their own.
    pub(super) fn reject(&self, reason: RejectionReason) {
        self.gateway.inner.count_rejection(reason, Some(&self.identity));
    }
}

pub(super) async fn post(
    State(gateway): State<McpGateway>,
    server_slug: Option<Path<String>>,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let options = &gateway.inner.options;
    if let Err(refusal) = guard::check_host_and_origin(&headers, options) {
        gateway.inner.count_rejection(RejectionReason::ForeignHost, None);
        return *refusal;
    }
    let limit = usize::try_from(options.max_request_bytes + ENVELOPE_BYTES).unwrap_or(usize::MAX);
    let Ok(body) = axum::body::to_bytes(body, limit).await else {
        gateway.inner.count_rejection(RejectionReason::PayloadTooLarge, None);
        let text = format!("the message is longer than {limit} bytes, or incomplete");
        return response::error_response(
            StatusCode::PAYLOAD_TOO_LARGE,
            &RpcError::new(INVALID_REQUEST, text),
        );
    };
    let server_slug = server_slug.map(|Path(slug)| slug);
    let authenticated = match authenticate_request(gateway, server_slug, headers, Some(&body)).await
    {
        Ok(authenticated) => authenticated,
        Err(refusal) => return *refusal,
    };
    if !is_json(&authenticated.headers) {
        authenticated.reject(RejectionReason::UnsupportedMediaType);
        let error = RpcError::new(INVALID_REQUEST, "Content-Type must be application/json");
        return response::error_response(StatusCode::UNSUPPORTED_MEDIA_TYPE, &error);
    }
    match ClientMessage::read(&body) {
        Ok(ClientMessage::Request { id, method, params }) => {
            let permit = match authenticated.acquire_permit() {
                Ok(permit) => permit,
                Err(refusal) => return *refusal,
            };
            let response = handle_request(&authenticated, id, &method, params).await;
            hold_permit(response, permit)
        }
        // Notifications and responses end requests that wait, so that they need no place themselves.
        Ok(ClientMessage::Notification { method }) => {
            handle_notification(&authenticated, &method, &body).await
        }
        Ok(ClientMessage::Response { id }) => handle_response(&authenticated, id, &body),
        Err((id, error)) => {
            authenticated.reject(RejectionReason::MalformedMessage);
            response::json_response(StatusCode::BAD_REQUEST, rpc::error(id, &error))
        }
    }
}

/// Authenticates the caller and applies the rate limits.
pub(super) async fn authenticate_request(
    gateway: McpGateway,
    server_slug: Option<String>,
    headers: HeaderMap,
    body: Option<&Bytes>,
) -> Result<AuthenticatedRequest, Box<Response>> {
    let identified = match guard::bearer_token(&headers) {
        Some(token) => gateway.inner.identify(token).await,
        None => Ok(None),
    };
    let (token, identity) = match identified {
        Ok(Some(known)) => known,
        Ok(None) => {
            return Err(Box::new(
                reject_unauthenticated(&gateway, server_slug.as_deref(), &headers, body).await,
            ));
        }
        Err(fault) => {
            error!(error = &fault as &dyn std::error::Error, "token check failed");
            let error =
                RpcError::new(INTERNAL_ERROR, "tokens cannot be checked now; try again shortly");
            return Err(Box::new(response::error_response(
                StatusCode::SERVICE_UNAVAILABLE,
                &error,
            )));
        }
    };
    if !gateway.inner.limits.admits_request(&token) {
        gateway.inner.count_rejection(RejectionReason::TooManyRequests, Some(&identity));
        return Err(Box::new(rate_limited(TOKEN_RATE_EXCEEDED, 1)));
    }
    if let Err(refusal) = gateway.inner.request_limits.check_rate(Requester::from(&*identity)) {
        return Err(Box::new(limit_response(&refusal)));
    }
    let permit = OnceLock::new();
    Ok(AuthenticatedRequest { gateway, token, identity, server_slug, headers, permit })
}

/// Rejects a request without a valid token. A tool call gets an audit record of its own, other
/// requests are counted.
async fn reject_unauthenticated(
    gateway: &McpGateway,
    server_slug: Option<&str>,
    headers: &HeaderMap,
    body: Option<&Bytes>,
) -> Response {
    let (kind, reason) = match guard::bearer_token(headers) {
        None => (ErrorKind::MissingBearer, "send a token as `Authorization: Bearer …`"),
        Some(_) => (ErrorKind::InvalidAgentToken, "the token is unknown, expired or revoked"),
    };
    if let Some(tool) = body.and_then(|body| called_tool(body, server_slug)) {
        if !gateway.inner.limits.admits_unauthenticated() {
            gateway.inner.count_rejection(RejectionReason::TooManyRequests, None);
            return rate_limited(TOKEN_RATE_EXCEEDED, 1);
        }
        let record = ToolCallRecord {
            agent: None,
            token: None,
            user: None,
            groups: vec![],
            roles: vec![],
            project: None,
            task: None,
            run: None,
            job: None,
            tool,
            server: "unknown".to_owned(),
            server_id: None,
            stage: Stage::Authenticate,
            error_type: Some(kind),
            origin: "gateway".to_owned(),
            request_id: TraceId::generate().to_string(),
        };
        if let Err(fault) = gateway.inner.backend.record_denial(record).await {
            error!(error = &fault as &dyn std::error::Error, "recording a denial failed");
        }
    } else {
        gateway.inner.count_rejection(RejectionReason::Unauthenticated, None);
    }
    metadata::unauthorized(headers, &gateway.inner.options, reason)
}

/// The tool that a message calls, if it calls one.
fn called_tool(body: &Bytes, server_slug: Option<&str>) -> Option<String> {
    let Ok(ClientMessage::Request { method, params, .. }) = ClientMessage::read(body) else {
        return None;
    };
    if method != "tools/call" {
        return None;
    }
    let name = RawFields::read(params?).ok()?.text("name")?;
    Some(truncate_name(
        &server_slug.map_or_else(|| name.to_string(), |slug| format!("{slug}.{name}")),
    ))
}

async fn handle_request(
    authenticated: &AuthenticatedRequest,
    id: &RawValue,
    method: &str,
    params: Option<&RawValue>,
) -> Response {
    let meta = StatelessMeta::parse(params);
    if protocol::is_stateless(&authenticated.headers, method, meta.as_ref()) {
        if let Err(error) =
            protocol::check_stateless(&authenticated.headers, method, params, meta.as_ref())
        {
            authenticated.reject(RejectionReason::HeaderMismatch);
            // Every error here is a malformed request.
            return response::json_response(StatusCode::BAD_REQUEST, rpc::error(Some(id), &error));
        }
        if let Err(fault) = check_mirrored_headers(authenticated, method, params) {
            authenticated.reject(RejectionReason::HeaderMismatch);
            let error = RpcError::new(rpc::HEADER_MISMATCH, fault);
            return response::json_response(StatusCode::BAD_REQUEST, rpc::error(Some(id), &error));
        }
        let client_description = stateless_client(&meta.unwrap_or_default());
        return dispatched_message(authenticated, None, Arc::new(client_description))
            .handle_stateless(id, method, params)
            .await;
    }
    if method == "initialize" {
        return super::session::initialize(authenticated, id, params).await;
    }
    match find_session(authenticated) {
        Ok(session) => {
            let client_description = Arc::clone(&session.client_description);
            dispatched_message(authenticated, Some(session), client_description)
                .handle_in_session(id, method, params)
                .await
        }
        Err((status, error)) => response::json_response(status, rpc::error(Some(id), &error)),
    }
}

/// Checks headers that mirror arguments of the called tool. Passes for a tool that the caller
/// cannot see; the call is rejected later.
fn check_mirrored_headers(
    authenticated: &AuthenticatedRequest,
    method: &str,
    params: Option<&RawValue>,
) -> Result<(), String> {
    let snapshot = authenticated.gateway.inner.snapshot();
    let Some(params) = params.filter(|_| snapshot.has_mirrored && method == "tools/call") else {
        return Ok(());
    };
    let fields = RawFields::read(params).unwrap_or_default();
    let name = fields.text("name").unwrap_or_default();
    let identity = &authenticated.identity;
    let tool = match &authenticated.server_slug {
        Some(slug) => resolve_tool(&snapshot, identity, &format!("{slug}.{name}")),
        None => resolve_tool(&snapshot, identity, &name),
    };
    let is_seen = |tool: &&Arc<PolicyTool>| {
        !tool.mirrored.is_empty() && pipeline::is_visible(&snapshot, identity, tool)
    };
    let Some(tool) = tool.filter(is_seen) else { return Ok(()) };
    // Invalid arguments are rejected later, with a better error.
    let arguments = fields.get("arguments").and_then(|raw| rpc::parse_strict(raw).ok());
    let arguments = arguments.unwrap_or_default();
    tool.mirrored.iter().try_for_each(|one| one.check_header(&authenticated.headers, &arguments))
}

async fn handle_notification(
    authenticated: &AuthenticatedRequest,
    method: &str,
    body: &Bytes,
) -> Response {
    match find_session(authenticated) {
        Ok(session) => {
            let client_description = Arc::clone(&session.client_description);
            dispatched_message(authenticated, Some(session), client_description)
                .handle_notification(method, body)
                .await;
            StatusCode::ACCEPTED.into_response()
        }
        // The revision without sessions has no client notifications; they are accepted and ignored.
        Err(_) if protocol::version_header(&authenticated.headers) == Some(protocol::STATELESS) => {
            StatusCode::ACCEPTED.into_response()
        }
        Err((status, error)) => response::error_response(status, &error),
    }
}

fn handle_response(authenticated: &AuthenticatedRequest, id: &RawValue, body: &Bytes) -> Response {
    match find_session(authenticated) {
        Ok(session) => {
            let text = String::from_utf8_lossy(body).into_owned();
            if session.resolve_pending_request(id, rpc::raw(text)) {
                StatusCode::ACCEPTED.into_response()
            } else {
                let error =
                    RpcError::new(INVALID_REQUEST, "no request is waiting for this response");
                response::error_response(StatusCode::BAD_REQUEST, &error)
            }
        }
        Err((status, error)) => response::error_response(status, &error),
    }
}

/// The session that a request names.
pub(super) fn find_session(
    authenticated: &AuthenticatedRequest,
) -> Result<Arc<GatewaySession>, (StatusCode, RpcError)> {
    let found = look_up_session(authenticated);
    if found.is_err()
        && protocol::version_header(&authenticated.headers) != Some(protocol::STATELESS)
    {
        authenticated.reject(RejectionReason::WrongSession);
    }
    found
}

fn look_up_session(
    authenticated: &AuthenticatedRequest,
) -> Result<Arc<GatewaySession>, (StatusCode, RpcError)> {
    let refuse = |status, text: &str| Err((status, RpcError::new(INVALID_REQUEST, text)));
    let version = protocol::version_header(&authenticated.headers);
    if let Some(unknown) = version.filter(|version| !protocol::VERSIONS.contains(version)) {
        return Err((StatusCode::BAD_REQUEST, protocol::unsupported_version(unknown)));
    }
    let Some(id) = authenticated.headers.get(protocol::SESSION_HEADER) else {
        return refuse(StatusCode::BAD_REQUEST, "Mcp-Session-Id is missing; send initialize first");
    };
    let id = id.to_str().unwrap_or_default();
    match authenticated.gateway.inner.sessions.get(
        id,
        &authenticated.token,
        authenticated.server_slug.as_deref(),
    ) {
        Some(session) => Ok(session),
        None => refuse(StatusCode::NOT_FOUND, "session not found; send initialize again"),
    }
}

fn dispatched_message(
    authenticated: &AuthenticatedRequest,
    session: Option<Arc<GatewaySession>>,
    client_description: Arc<ClientDescription>,
) -> DispatchedMessage {
    DispatchedMessage {
        inner: Arc::clone(&authenticated.gateway.inner),
        token: authenticated.token,
        identity: Arc::clone(&authenticated.identity),
        server_slug: authenticated.server_slug.clone(),
        session,
        client_description,
        accepts_stream: accepts_stream(&authenticated.headers),
        permit: authenticated.permit.get().cloned(),
    }
}

fn stateless_client(meta: &StatelessMeta<'_>) -> ClientDescription {
    let empty: Cow<'_, RawValue> = Cow::Owned(rpc::raw("{}".to_owned()));
    ClientDescription {
        version: protocol::STATELESS.to_owned(),
        capabilities: meta.capabilities.map_or(empty, Cow::Borrowed).into_owned(),
        info: meta.info.map(ToOwned::to_owned),
    }
}

pub(super) fn accepts_stream(headers: &HeaderMap) -> bool {
    let accepts =
        |value: &HeaderValue| value.to_str().is_ok_and(|text| text.contains("text/event-stream"));
    headers.get_all(ACCEPT).iter().any(accepts)
}

fn is_json(headers: &HeaderMap) -> bool {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}
