//! The tool that says back what it is told, and counts how often.
//!
//! [`quick`] answers the plain case without building a JSON tree: a benchmark of a gateway should wait
//! for the gateway, not for this server. Whatever is not plain is left to the ordinary path.

use std::borrow::Cow;

use http::HeaderMap;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::era::{self, header};
use crate::fixture::Fixture;

/// The name of the tool.
pub const ECHO: &str = "echo";

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Arguments<'a>,
    #[serde(borrow, rename = "_meta")]
    meta: Option<Meta<'a>>,
}

#[derive(Deserialize)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: &'a RawValue,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<Cow<'a, str>>,
    #[serde(borrow, rename = "io.modelcontextprotocol/clientCapabilities")]
    capabilities: Option<&'a RawValue>,
}

/// The answer to a plain call of `echo`; nothing if this is anything else.
pub(crate) fn quick(fixture: &Fixture, headers: &HeaderMap, body: &[u8]) -> Option<String> {
    let call: Envelope<'_> = serde_json::from_slice(body).ok()?;
    let is_plain = call.method == "tools/call"
        && call.params.name == ECHO
        && call.id.get() != "null"
        && call.params.arguments.text.get().starts_with('"');
    if !is_plain {
        return None;
    }
    let marks = if era::is_stateless(headers, None) {
        let meta = call.params.meta.as_ref()?;
        let agrees = header(headers, "mcp-protocol-version") == Some(era::STATELESS)
            && meta.version.as_deref() == Some(era::STATELESS)
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
