//! Determines the protocol era of a message, and validates requests of the stateless era.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::HeaderMap;
use serde_json::{Value, json};

use crate::message::{FixtureRequest, FixtureRpcError};
use crate::tools;

/// The protocol revision without sessions.
pub(crate) const STATELESS: &str = "2026-07-28";
/// The newest revision with sessions, offered to a client that requests an unknown one.
pub(crate) const NEWEST_SESSION: &str = "2025-11-25";
const SESSION: [&str; 4] = [NEWEST_SESSION, "2025-06-18", "2025-03-26", "2024-11-05"];

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// Every supported revision, newest first.
pub(crate) fn supported_versions() -> Vec<&'static str> {
    [STATELESS].into_iter().chain(SESSION).collect()
}

/// Whether this is a supported revision with sessions.
pub(crate) fn is_session_version(version: &str) -> bool {
    SESSION.contains(&version)
}

/// The trimmed value of a header.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// Whether a request is of the stateless era, by its header or its metadata.
pub(crate) fn is_stateless(headers: &HeaderMap, request: Option<&FixtureRequest>) -> bool {
    if header(headers, "mcp-session-id").is_some() {
        return false;
    }
    let by_header = header(headers, "mcp-protocol-version").is_some_and(|v| !is_session_version(v));
    by_header || request.is_some_and(|request| request.meta(VERSION_KEY).is_some())
}

/// Checks the metadata required on every transport: client capabilities and a supported revision.
pub(crate) fn check_meta(request: &FixtureRequest) -> Result<(), FixtureRpcError> {
    let Some(version) = request.meta(VERSION_KEY).and_then(Value::as_str) else {
        return Err(
            FixtureRpcError::invalid_params(format!("_meta lacks {VERSION_KEY}")).status(400)
        );
    };
    if !request.meta(CAPABILITIES_KEY).is_some_and(Value::is_object) {
        return Err(
            FixtureRpcError::invalid_params(format!("_meta lacks {CAPABILITIES_KEY}")).status(400)
        );
    }
    if version != STATELESS {
        let data = json!({ "supported": supported_versions(), "requested": version });
        let fault = FixtureRpcError::new(-32022, format!("revision {version} is not supported"));
        return Err(fault.data(data).status(400));
    }
    Ok(())
}

/// Checks that the HTTP headers match the body.
pub(crate) fn check_headers(
    headers: &HeaderMap,
    request: &FixtureRequest,
) -> Result<(), FixtureRpcError> {
    let stated = |name| header(headers, name);
    let Some(version) = stated("mcp-protocol-version") else {
        return Err(FixtureRpcError::header_mismatch("MCP-Protocol-Version is missing"));
    };
    let in_body = request.meta(VERSION_KEY).and_then(Value::as_str);
    if in_body.is_some_and(|in_body| in_body != version) {
        return Err(FixtureRpcError::header_mismatch(
            "MCP-Protocol-Version is not the revision in _meta",
        ));
    }
    if stated("mcp-method") != Some(request.method.as_str()) {
        return Err(FixtureRpcError::header_mismatch("Mcp-Method is not the method of the body"));
    }
    let name = match request.method.as_str() {
        "tools/call" | "prompts/get" => request.text("name"),
        "resources/read" => request.text("uri"),
        _ => None,
    };
    if name.is_some() && stated("mcp-name") != name {
        return Err(FixtureRpcError::header_mismatch("Mcp-Name is not the name in the body"));
    }
    check_mirrored_arguments(headers, request)
}

/// Checks that mirrored arguments are present in the headers and match the body.
fn check_mirrored_arguments(
    headers: &HeaderMap,
    request: &FixtureRequest,
) -> Result<(), FixtureRpcError> {
    if request.method != "tools/call" || request.text("name") != Some(tools::MIRRORED.tool) {
        return Ok(());
    }
    let in_body = request.argument(tools::MIRRORED.argument);
    let in_header = match header(headers, tools::MIRRORED.header) {
        None => None,
        Some(value) => Some(decode_mirrored(value).ok_or_else(|| {
            FixtureRpcError::header_mismatch(format!("{} is not Base64", tools::MIRRORED.header))
        })?),
    };
    if in_header.as_deref() != in_body {
        let name = tools::MIRRORED.header;
        return Err(FixtureRpcError::header_mismatch(format!(
            "{name} is not the argument in the body"
        )));
    }
    Ok(())
}

/// Decodes a mirrored header: Base64 between `=?base64?` and `?=`, else literal.
fn decode_mirrored(value: &str) -> Option<String> {
    let encoded = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?="));
    match encoded {
        None => Some(value.to_owned()),
        Some(encoded) => String::from_utf8(BASE64.decode(encoded).ok()?).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrored_values_are_base64_only_between_both_marks() {
        assert_eq!(decode_mirrored("=?base64?SGVsbG8=?=").as_deref(), Some("Hello"));
        assert_eq!(decode_mirrored("=?base64?SGVsbG8?="), None);
        assert_eq!(decode_mirrored("SGVsbG8=").as_deref(), Some("SGVsbG8="));
        assert_eq!(decode_mirrored("=?base64?SGVsbG8=").as_deref(), Some("=?base64?SGVsbG8="));
    }
}
