//! Protected resource metadata (RFC 9728), which tells clients how to authenticate.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use http::header::{HOST, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::json;

use super::{METADATA_PATH, guard, response};
use crate::McpGateway;
use crate::options::GatewayOptions;
use cynode_upstream::rpc::INVALID_REQUEST;
use cynode_upstream::rpc::RpcError;

/// `GET /.well-known/oauth-protected-resource`
pub(super) async fn metadata(
    State(gateway): State<McpGateway>,
    resource: Option<Path<String>>,
    headers: HeaderMap,
) -> Response {
    let options = &gateway.inner.options;
    if let Err(refusal) = guard::check_host_and_origin(&headers, options) {
        return *refusal;
    }
    let path = resource.map_or_else(|| "mcp".to_owned(), |Path(path)| path);
    if path != "mcp" && !path.starts_with("mcp/") {
        return StatusCode::NOT_FOUND.into_response();
    }
    let base = base_url(&headers, options);
    Json(json!({
        "resource": format!("{base}/{path}"),
        "resource_name": "CyNode MCP gateway",
        "bearer_methods_supported": ["header"],
    }))
    .into_response()
}

/// The response to a caller without a valid token.
pub(super) fn unauthorized(
    headers: &HeaderMap,
    options: &GatewayOptions,
    reason: &str,
) -> Response {
    let error = RpcError::new(INVALID_REQUEST, reason);
    let mut response = response::error_response(StatusCode::UNAUTHORIZED, &error);
    let challenge =
        format!("Bearer resource_metadata=\"{}{METADATA_PATH}\"", base_url(headers, options));
    if let Ok(challenge) = HeaderValue::from_str(&challenge) {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}

/// The URL that the client used; its Host was checked before.
fn base_url(headers: &HeaderMap, options: &GatewayOptions) -> String {
    if let Some(url) = &options.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    format!("http://{host}")
}
