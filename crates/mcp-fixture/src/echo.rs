//! The `echo` tool, which counts its calls.
//!
//! [`fast_response`] handles the common case without building a JSON tree, so that a gateway benchmark does not
//! measure this server. Other calls take the ordinary path.

use std::borrow::Cow;

use http::HeaderMap;
use http::header::{HOST, ORIGIN};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::fixture::McpFixture;

pub const ECHO: &str = "echo";

/// The protocol revision without sessions.
const STATELESS: &str = "2026-07-28";

#[derive(Deserialize)]
struct EchoRequest<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: EchoParams<'a>,
}

#[derive(Deserialize)]
struct EchoParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: EchoArguments<'a>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<EchoMeta<'a>>,
}

#[derive(Deserialize)]
struct EchoArguments<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
}

#[derive(Deserialize)]
struct EchoMeta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
}

/// The response to a simple call of `echo`; `None` for any other request.
pub(crate) fn fast_response(
    fixture: &McpFixture,
    headers: &HeaderMap,
    body: &[u8],
) -> Option<String> {
    let call: EchoRequest<'_> = serde_json::from_slice(body).ok()?;
    let is_plain = call.method == "tools/call"
        && call.params.name == ECHO
        && call.id.get() != "null"
        && call.params.arguments.text.get().starts_with('"')
        && is_local(headers);
    if !is_plain {
        return None;
    }
    let marks = if header(headers, "mcp-protocol-version") == Some(STATELESS) {
        let meta = call.params.meta.as_ref()?;
        let agrees = meta.version.as_deref() == Some(STATELESS)
            && meta.capabilities.is_some_and(|value| value.get().starts_with('{'))
            && header(headers, "mcp-method") == Some("tools/call")
            && header(headers, "mcp-name") == Some(ECHO);
        agrees.then_some(r#","resultType":"complete""#)?
    } else {
        let id = header(headers, "mcp-session-id")?;
        fixture.sessions.sessions.try_read().ok()?.get(id)?;
        ""
    };
    fixture.count_call();
    let (id, text) = (call.id.get(), call.params.arguments.text.get());
    Some(format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":{text}}}]{marks}}}}}"#
    ))
}

/// Whether the request is certainly not sent by a web page of another origin.
fn is_local(headers: &HeaderMap) -> bool {
    let host = header(headers, HOST.as_str()).and_then(|host| host.split(':').next());
    matches!(host, Some("127.0.0.1" | "localhost")) && !headers.contains_key(ORIGIN)
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}
