//! The methods of revisions with sessions: opens, streams and closes a session.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use cynode_runtime::guarded_body;
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tracing::error;

use super::admission::{become_stream, limit_response};
use super::client::SessionClient;
use super::guard;
use super::post::{AuthenticatedRequest, accepts_stream, authenticate_request, find_session};
use super::response::{self, EventStreamSource};
use crate::McpGateway;
use crate::pipeline;
use crate::rejections::RejectionReason;
use crate::sessions::OpenSessionError;
use cynode_upstream::interface::ClientDescription;
use cynode_upstream::interface::ServerDescription;
use cynode_upstream::protocol;
use cynode_upstream::rpc;
use cynode_upstream::rpc::INVALID_PARAMS;
use cynode_upstream::rpc::INVALID_REQUEST;
use cynode_upstream::rpc::RawFields;
use cynode_upstream::rpc::RpcError;

/// Opens a session. At `/mcp/<server>` that server is opened as well, and its capabilities are
/// returned.
pub(super) async fn initialize(
    authenticated: &AuthenticatedRequest,
    id: &RawValue,
    params: Option<&RawValue>,
) -> Response {
    let fields = params.map(RawFields::read).and_then(Result::ok).unwrap_or_default();
    let Some(wanted) = fields.text("protocolVersion") else {
        let error = RpcError::new(INVALID_PARAMS, "params.protocolVersion must be a string");
        return response::json_response(StatusCode::OK, rpc::error(Some(id), &error));
    };
    let version = protocol::negotiate_version(&wanted);
    let client_description = ClientDescription {
        version: version.to_owned(),
        capabilities: fields
            .get("capabilities")
            .map_or_else(|| rpc::raw("{}".to_owned()), ToOwned::to_owned),
        info: fields.get("clientInfo").map(ToOwned::to_owned),
    };
    let inner = &authenticated.gateway.inner;
    let opened = inner.sessions.open(
        (authenticated.token, authenticated.identity.caller.user),
        authenticated.server_slug.clone(),
        client_description,
    );
    let (session, ended) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let code = match error {
                OpenSessionError::LimitReached => {
                    authenticated.reject(RejectionReason::TooManySessions);
                    INVALID_REQUEST
                }
                OpenSessionError::NoRandomness => {
                    error!("session not opened: no randomness");
                    rpc::INTERNAL_ERROR
                }
            };
            let error = rpc::error(Some(id), &RpcError::new(code, error.to_string()));
            return response::json_response(StatusCode::SERVICE_UNAVAILABLE, error);
        }
    };
    for ended in ended {
        inner.upstreams.close(&ended.key()).await;
    }
    let result = match &authenticated.server_slug {
        None => own_initialize_result(version),
        Some(slug) => {
            let listener = SessionClient {
                client_description: Arc::clone(&session.client_description),
                session: Some(Arc::clone(&session)),
            };
            match open_server(authenticated, slug, listener, &session.key()).await {
                Ok(client_description) => server_initialize_result(version, &client_description),
                Err(error) => {
                    inner.sessions.close(&session);
                    return response::json_response(StatusCode::OK, rpc::error(Some(id), &error));
                }
            }
        }
    };
    let mut response =
        response::json_response(StatusCode::OK, rpc::render_result(id, &result.to_string()));
    if let Ok(value) = HeaderValue::from_str(&session.id) {
        response.headers_mut().insert(protocol::SESSION_HEADER, value);
    }
    response
}

async fn open_server(
    authenticated: &AuthenticatedRequest,
    slug: &str,
    listener: SessionClient,
    key: &cynode_upstream::interface::SessionKey,
) -> Result<ServerDescription, RpcError> {
    let inner = &authenticated.gateway.inner;
    let identity = &authenticated.identity;
    let snapshot = inner.snapshot_with_server(identity, slug).await;
    let server = pipeline::check_may_open(&snapshot, identity, slug)
        .inspect_err(|_| authenticated.reject(RejectionReason::ServerDenied))
        .map_err(|denial| pipeline::conceal_server(&snapshot, identity, slug, denial))
        .map_err(|shown| RpcError::new(INVALID_REQUEST, shown.message))?;
    let upstream = inner
        .upstreams
        .open(server.id, key, Arc::new(listener))
        .await
        .map_err(|fault| RpcError::new(rpc::INTERNAL_ERROR, fault.to_string()))?;
    Ok(upstream.about().clone())
}

fn own_initialize_result(version: &str) -> Value {
    json!({
        "protocolVersion": version,
        "capabilities": protocol::own_capabilities(),
        "serverInfo": protocol::server_info(),
        "instructions": "Tools of CyNode and of its installed servers. Call help.get for an overview.",
    })
}

fn server_initialize_result(version: &str, client_description: &ServerDescription) -> Value {
    let read =
        |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).unwrap_or_else(|_| json!({}));
    let mut result = json!({
        "protocolVersion": version,
        "capabilities": read(&client_description.capabilities),
        "serverInfo": read(&client_description.info),
    });
    // The gateway serves the tool list: it changes with rules and settings, too.
    if !result["capabilities"]["tools"].is_null() {
        result["capabilities"]["tools"]["listChanged"] = true.into();
    }
    if let Some(instructions) = &client_description.instructions {
        result["instructions"] = instructions.clone().into();
    }
    result
}

/// Authenticates a request with a verb that only revisions with sessions have.
async fn authenticate_session_request(
    gateway: McpGateway,
    server_slug: Option<Path<String>>,
    headers: HeaderMap,
) -> Result<AuthenticatedRequest, Box<Response>> {
    guard::check_host_and_origin(&headers, &gateway.inner.options)
        .inspect_err(|_| gateway.inner.count_rejection(RejectionReason::ForeignHost, None))?;
    let authenticated =
        authenticate_request(gateway, server_slug.map(|Path(slug)| slug), headers, None).await?;
    if protocol::version_header(&authenticated.headers) == Some(protocol::STATELESS) {
        return Err(Box::new(StatusCode::METHOD_NOT_ALLOWED.into_response()));
    }
    Ok(authenticated)
}

/// `GET /mcp`: the stream for messages that belong to no request.
pub(super) async fn get(
    State(gateway): State<McpGateway>,
    server_slug: Option<Path<String>>,
    headers: HeaderMap,
) -> Response {
    let authenticated = match authenticate_session_request(gateway, server_slug, headers).await {
        Ok(authenticated) => authenticated,
        Err(refusal) => return *refusal,
    };
    if !accepts_stream(&authenticated.headers) {
        let error = RpcError::new(INVALID_REQUEST, "Accept must include text/event-stream");
        return response::error_response(StatusCode::NOT_ACCEPTABLE, &error);
    }
    let permit = match authenticated.acquire_permit() {
        Ok(permit) => permit,
        Err(refusal) => return *refusal,
    };
    match find_session(&authenticated) {
        Ok(session) => {
            if let Err(refusal) = become_stream(&permit) {
                return limit_response(&refusal);
            }
            let messages = session.open_stream();
            let stream = response::event_stream_response(EventStreamSource {
                first: None,
                messages,
                last: None,
                guard: None,
            });
            guarded_body::hold_until_sent(stream, permit)
        }
        Err((status, error)) => response::error_response(status, &error),
    }
}

/// `DELETE /mcp`: closes the session.
pub(super) async fn delete(
    State(gateway): State<McpGateway>,
    server_slug: Option<Path<String>>,
    headers: HeaderMap,
) -> Response {
    let authenticated = match authenticate_session_request(gateway, server_slug, headers).await {
        Ok(authenticated) => authenticated,
        Err(refusal) => return *refusal,
    };
    match find_session(&authenticated) {
        Ok(session) => {
            authenticated.gateway.inner.sessions.close(&session);
            authenticated.gateway.inner.upstreams.close(&session.key()).await;
            StatusCode::NO_CONTENT.into_response()
        }
        Err((status, error)) => response::error_response(status, &error),
    }
}
