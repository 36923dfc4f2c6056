//! The `echo` tool, which counts its calls.
//!
//! [`fast_response`] handles the common case without building a JSON tree, so that a gateway benchmark does not
//! measure this server. Other calls take the ordinary path.

use std::borrow::Cow;

use http::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::fixture::McpFixture;
use crate::protocol_era::{self, header};

pub const ECHO: &str = "echo";

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
        && call.params.arguments.text.get().starts_with('"');
    if !is_plain {
        return None;
    }
    let marks = if protocol_era::is_stateless(headers, None) {
        let meta = call.params.meta.as_ref()?;
        let agrees = header(headers, "mcp-protocol-version") == Some(protocol_era::STATELESS)
            && meta.version.as_deref() == Some(protocol_era::STATELESS)
            && meta.capabilities.is_some_and(|value| value.get().starts_with('{'))
            && header(headers, "mcp-method") == Some("tools/call")
            && header(headers, "mcp-name") == Some(ECHO);
        agrees.then_some(r#","resultType":"complete""#)?
    } else {
        fixture.session(header(headers, "mcp-session-id")?)?;
        ""
    };
    fixture.count_call();
    let (id, text) = (call.id.get(), call.params.arguments.text.get());
    Some(format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":{text}}}]{marks}}}}}"#
    ))
}
