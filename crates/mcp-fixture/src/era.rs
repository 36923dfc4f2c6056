//! Which era a message belongs to, and what the stateless one demands of each request.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use http::HeaderMap;
use serde_json::{Value, json};

use crate::message::{Fault, Request};
use crate::tools;

/// The revision without sessions.
pub(crate) const STATELESS: &str = "2026-07-28";
/// The newest revision with sessions, offered to a client that asks for one we do not know.
pub(crate) const NEWEST_SESSION: &str = "2025-11-25";
const SESSION: [&str; 4] = [NEWEST_SESSION, "2025-06-18", "2025-03-26", "2024-11-05"];

const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// Every revision that is spoken, newest first.
pub(crate) fn supported() -> Vec<&'static str> {
    [STATELESS].into_iter().chain(SESSION).collect()
}

/// Whether a revision with sessions of this name is spoken.
pub(crate) fn is_session_version(version: &str) -> bool {
    SESSION.contains(&version)
}

/// The value of a header, without the blanks around it.
pub(crate) fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// Whether a request is one of the stateless era, by its header or by what it says of itself.
pub(crate) fn is_stateless(headers: &HeaderMap, request: Option<&Request>) -> bool {
    if header(headers, "mcp-session-id").is_some() {
        return false;
    }
    let by_header = header(headers, "mcp-protocol-version").is_some_and(|v| !is_session_version(v));
    by_header || request.is_some_and(|request| request.meta(VERSION_KEY).is_some())
}

/// The demands that hold on every transport: who the client is, and a revision we speak.
pub(crate) fn check_meta(request: &Request) -> Result<(), Fault> {
    let Some(version) = request.meta(VERSION_KEY).and_then(Value::as_str) else {
        return Err(Fault::invalid_params(format!("_meta lacks {VERSION_KEY}")).status(400));
    };
    if !request.meta(CAPABILITIES_KEY).is_some_and(Value::is_object) {
        return Err(Fault::invalid_params(format!("_meta lacks {CAPABILITIES_KEY}")).status(400));
    }
    if version != STATELESS {
        let data = json!({ "supported": supported(), "requested": version });
        let fault = Fault::new(-32022, format!("revision {version} is not spoken here"));
        return Err(fault.data(data).status(400));
    }
    Ok(())
}

/// The demands of HTTP: the headers say the same as the body.
pub(crate) fn check_headers(headers: &HeaderMap, request: &Request) -> Result<(), Fault> {
    let stated = |name| header(headers, name);
    let Some(version) = stated("mcp-protocol-version") else {
        return Err(Fault::header_mismatch("MCP-Protocol-Version is missing"));
    };
    let in_body = request.meta(VERSION_KEY).and_then(Value::as_str);
    if in_body.is_some_and(|in_body| in_body != version) {
        return Err(Fault::header_mismatch("MCP-Protocol-Version is not the revision in _meta"));
    }
    if stated("mcp-method") != Some(request.method.as_str()) {
        return Err(Fault::header_mismatch("Mcp-Method is not the method of the body"));
    }
    let name = match request.method.as_str() {
        "tools/call" | "prompts/get" => request.text("name"),
        "resources/read" => request.text("uri"),
        _ => None,
    };
    if name.is_some() && stated("mcp-name") != name {
        return Err(Fault::header_mismatch("Mcp-Name is not the name in the body"));
    }
    check_mirrored_arguments(headers, request)
}

/// Arguments that a tool wants repeated in headers must be there, and the same.
fn check_mirrored_arguments(headers: &HeaderMap, request: &Request) -> Result<(), Fault> {
    if request.method != "tools/call" || request.text("name") != Some(tools::MIRRORED.tool) {
        return Ok(());
    }
    let in_body = request.argument(tools::MIRRORED.argument);
    let in_header = match header(headers, tools::MIRRORED.header) {
        None => None,
        Some(value) => Some(decoded(value).ok_or_else(|| {
            Fault::header_mismatch(format!("{} is not Base64", tools::MIRRORED.header))
        })?),
    };
    if in_header.as_deref() != in_body {
        let name = tools::MIRRORED.header;
        return Err(Fault::header_mismatch(format!("{name} is not the argument in the body")));
    }
    Ok(())
}

/// The value of a mirrored header: Base64 between `=?base64?` and `?=`, else as it stands.
fn decoded(value: &str) -> Option<String> {
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
        assert_eq!(decoded("=?base64?SGVsbG8=?=").as_deref(), Some("Hello"));
        assert_eq!(decoded("=?base64?SGVsbG8?="), None);
        assert_eq!(decoded("SGVsbG8=").as_deref(), Some("SGVsbG8="));
        assert_eq!(decoded("=?base64?SGVsbG8=").as_deref(), Some("=?base64?SGVsbG8="));
    }
}
