//! The methods of revisions with sessions: opens, streams and closes a session.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::client::SessionClient;
use super::guard;
use super::post::{AuthenticatedRequest, accepts_stream, authenticate_request, find_session};
use super::response::{self, EventStreamSource};
use crate::McpGateway;
use crate::pipeline;
use crate::rejections::RejectionReason;
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
    knock: &AuthenticatedRequest,
    id: &RawValue,
    params: Option<&RawValue>,
) -> Response {
    let fields = params.map(RawFields::read).and_then(Result::ok).unwrap_or_default();
    let Some(wanted) = fields.text("protocolVersion") else {
        let error = RpcError::new(INVALID_PARAMS, "params.protocolVersion must be a string");
        return response::json_response(StatusCode::OK, rpc::error(Some(id), &error));
    };
    let version = protocol::negotiate_version(&wanted);
    let about = ClientDescription {
        version: version.to_owned(),
        capabilities: fields
            .get("capabilities")
            .map_or_else(|| rpc::raw("{}".to_owned()), ToOwned::to_owned),
        info: fields.get("clientInfo").map(ToOwned::to_owned),
    };
    let inner = &knock.gateway.inner;
    let Ok((session, ended)) = inner.sessions.open(knock.token, knock.server_slug.clone(), about)
    else {
        knock.reject(RejectionReason::TooManySessions);
        let error = RpcError::new(INVALID_REQUEST, "too many sessions; try again later");
        return response::json_response(
            StatusCode::SERVICE_UNAVAILABLE,
            rpc::error(Some(id), &error),
        );
    };
    for ended in ended {
        inner.upstreams.close(&ended.key()).await;
    }
    let result = match &knock.server_slug {
        None => own_initialize_result(version),
        Some(slug) => {
            let listener = SessionClient {
                about: Arc::clone(&session.about),
                session: Some(Arc::clone(&session)),
            };
            match open_server(knock, slug, listener, &session.key()).await {
                Ok(about) => server_initialize_result(version, &about),
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
    knock: &AuthenticatedRequest,
    slug: &str,
    listener: SessionClient,
    key: &cynode_upstream::interface::SessionKey,
) -> Result<ServerDescription, RpcError> {
    let inner = &knock.gateway.inner;
    let snapshot = inner.snapshot_containing(|known| known.server(slug).is_some()).await;
    let server = pipeline::check_may_open(&snapshot, &knock.who, slug)
        .inspect_err(|_| knock.reject(RejectionReason::ServerDenied))
        .map_err(|denial| pipeline::conceal_server(&snapshot, &knock.who, slug, denial))
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

fn server_initialize_result(version: &str, about: &ServerDescription) -> Value {
    let read =
        |raw: &RawValue| serde_json::from_str::<Value>(raw.get()).unwrap_or_else(|_| json!({}));
    let mut result = json!({
        "protocolVersion": version,
        "capabilities": read(&about.capabilities),
        "serverInfo": read(&about.info),
    });
    // The gateway serves the tool list: it changes with rules and settings, too.
    if !result["capabilities"]["tools"].is_null() {
        result["capabilities"]["tools"]["listChanged"] = true.into();
    }
    if let Some(instructions) = &about.instructions {
        result["instructions"] = instructions.clone().into();
    }
    result
}

/// Authenticates a request with a verb that only revisions with sessions have.
async fn authenticate_session_request(
    gateway: McpGateway,
    face: Option<Path<String>>,
    headers: HeaderMap,
) -> Result<AuthenticatedRequest, Box<Response>> {
    guard::check_host_and_origin(&headers, &gateway.inner.options)
        .inspect_err(|_| gateway.inner.count_rejection(RejectionReason::ForeignHost, None))?;
    let knock = authenticate_request(gateway, face.map(|Path(slug)| slug), headers, None).await?;
    if protocol::version_header(&knock.headers) == Some(protocol::STATELESS) {
        return Err(Box::new(StatusCode::METHOD_NOT_ALLOWED.into_response()));
    }
    Ok(knock)
}

/// `GET /mcp`: the stream for messages that belong to no request.
pub(super) async fn get(
    State(gateway): State<McpGateway>,
    face: Option<Path<String>>,
    headers: HeaderMap,
) -> Response {
    let knock = match authenticate_session_request(gateway, face, headers).await {
        Ok(knock) => knock,
        Err(refusal) => return *refusal,
    };
    if !accepts_stream(&knock.headers) {
        let error = RpcError::new(INVALID_REQUEST, "Accept must include text/event-stream");
        return response::error_response(StatusCode::NOT_ACCEPTABLE, &error);
    }
    match find_session(&knock) {
        Ok(session) => {
            let messages = session.open_stream();
            response::event_stream_response(EventStreamSource {
                first: None,
                messages,
                last: None,
                guard: None,
            })
        }
        Err((status, error)) => response::error_response(status, &error),
    }
}

/// `DELETE /mcp`: closes the session.
pub(super) async fn delete(
    State(gateway): State<McpGateway>,
    face: Option<Path<String>>,
    headers: HeaderMap,
) -> Response {
    let knock = match authenticate_session_request(gateway, face, headers).await {
        Ok(knock) => knock,
        Err(refusal) => return *refusal,
    };
    match find_session(&knock) {
        Ok(session) => {
            knock.gateway.inner.sessions.close(&session);
            knock.gateway.inner.upstreams.close(&session.key()).await;
            StatusCode::NO_CONTENT.into_response()
        }
        Err((status, error)) => response::error_response(status, &error),
    }
}
