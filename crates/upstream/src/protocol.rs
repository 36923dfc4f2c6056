//! The supported protocol revisions and their differences.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::text::truncate_chars;
use http::{HeaderMap, HeaderName};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::rpc;
use crate::rpc::RawFields;
use crate::rpc::RpcError;

/// The revision without sessions.
pub const STATELESS: &str = "2026-07-28";
/// The newest revision with sessions; offered to a client that requests an unknown one.
pub(crate) const NEWEST_SESSION: &str = "2025-11-25";
/// The revisions with sessions, newest first.
pub(crate) const SESSION_VERSIONS: [&str; 4] =
    [NEWEST_SESSION, "2025-06-18", "2025-03-26", "2024-11-05"];
/// Every revision, newest first.
pub const VERSIONS: [&str; 5] =
    [STATELESS, NEWEST_SESSION, "2025-06-18", "2025-03-26", "2024-11-05"];

pub(crate) const VERSION_HEADER: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub const SESSION_HEADER: HeaderName = HeaderName::from_static("mcp-session-id");
const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");

const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const META_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// Relates a notification to its subscription.
pub const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";

/// How long a stateless client may cache a list.
pub const LIST_TTL_MS: u64 = 1000;

/// The `serverInfo` and `clientInfo` of the gateway.
pub fn server_info() -> Value {
    json!({ "name": "cynode", "title": "CyNode", "version": env!("CARGO_PKG_VERSION") })
}

/// The capabilities of `/mcp` itself.
pub fn own_capabilities() -> Value {
    json!({ "tools": { "listChanged": true }, "logging": {} })
}

/// The version for a client that requested `wanted` in `initialize`.
pub fn negotiate_version(wanted: &str) -> &'static str {
    SESSION_VERSIONS.into_iter().find(|known| *known == wanted).unwrap_or(NEWEST_SESSION)
}

/// Whether a request is of the stateless revision, by header or by body.
pub fn is_stateless(headers: &HeaderMap, method: &str, meta: Option<&StatelessMeta<'_>>) -> bool {
    // The stateless revision has no `initialize`, so only the version in the body can select it;
    // other clients may send the newest version they know in the header.
    if method == "initialize" {
        return meta.is_some_and(|meta| meta.version.is_some());
    }
    let of_sessions = |version: &str| SESSION_VERSIONS.contains(&version);
    match (version_header(headers), meta.and_then(|meta| meta.version.as_deref())) {
        (_, Some(_)) => true,
        (Some(header), None) => !of_sessions(header) && !headers.contains_key(SESSION_HEADER),
        (None, None) => method == "server/discover" || headers.contains_key(METHOD_HEADER),
    }
}

pub fn version_header(headers: &HeaderMap) -> Option<&str> {
    headers.get(VERSION_HEADER)?.to_str().ok()
}

/// The `_meta` of a stateless request.
#[derive(Debug, Default)]
pub struct StatelessMeta<'a> {
    pub version: Option<Cow<'a, str>>,
    pub capabilities: Option<&'a RawValue>,
    pub info: Option<&'a RawValue>,
}

impl<'a> StatelessMeta<'a> {
    pub fn parse(params: Option<&'a RawValue>) -> Option<Self> {
        let params = RawFields::read(params?).ok()?;
        let meta = RawFields::read(params.get("_meta")?).ok()?;
        Some(Self {
            version: meta.text(META_VERSION),
            capabilities: meta.get(META_CAPABILITIES),
            info: meta.get(META_INFO),
        })
    }
}

/// Rejects a stateless request whose headers are missing or contradict its body, or whose version
/// is not supported.
pub fn check_stateless(
    headers: &HeaderMap,
    method: &str,
    params: Option<&RawValue>,
    meta: Option<&StatelessMeta<'_>>,
) -> Result<(), RpcError> {
    let mismatch = |text: String| Err(RpcError::new(rpc::HEADER_MISMATCH, text));
    let Some(header) = version_header(headers) else {
        return mismatch("the MCP-Protocol-Version header is missing".to_owned());
    };
    let body = meta.and_then(|meta| meta.version.as_deref());
    if let Some(body) = body.filter(|body| *body != header) {
        let shown = truncate_chars(body, 40);
        return mismatch(format!("MCP-Protocol-Version is {header}, but the body has {shown}"));
    }
    if header != STATELESS {
        return Err(unsupported_version(header));
    }
    let has_capabilities =
        meta.and_then(|meta| meta.capabilities).is_some_and(|raw| raw.get().starts_with('{'));
    if body.is_none() || !has_capabilities {
        let text = format!("params._meta must have {META_VERSION} and {META_CAPABILITIES}");
        return Err(RpcError::new(rpc::INVALID_PARAMS, text));
    }
    check_header_matches(headers, &METHOD_HEADER, Some(method))?;
    check_header_matches(headers, &NAME_HEADER, mcp_name(method, params).as_deref())
}

pub fn unsupported_version(requested: &str) -> RpcError {
    RpcError::new(rpc::UNSUPPORTED_VERSION, "Unsupported protocol version")
        .with(json!({ "supported": VERSIONS, "requested": requested }))
}

/// The required value of `Mcp-Name`, for the methods that have it.
fn mcp_name<'a>(method: &str, params: Option<&'a RawValue>) -> Option<Cow<'a, str>> {
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ => return None,
    };
    // A request without the member is rejected later, with a better error.
    RawFields::read(params?).ok()?.text(member)
}

fn check_header_matches(
    headers: &HeaderMap,
    name: &HeaderName,
    body: Option<&str>,
) -> Result<(), RpcError> {
    let Some(body) = body else { return Ok(()) };
    let refuse = |text: String| Err(RpcError::new(rpc::HEADER_MISMATCH, text));
    let mut values = headers.get_all(name).iter();
    let (Some(header), None) = (values.next(), values.next()) else {
        return refuse(format!("exactly one {name} header is required"));
    };
    match header.to_str().ok().and_then(decode_header_value) {
        Some(header) if header == body => Ok(()),
        Some(_) => refuse(format!("the {name} header does not match the body")),
        None => refuse(format!("the {name} header cannot be decoded")),
    }
}

/// Header values that are not plain ASCII are encoded as `=?base64?…?=`.
pub fn decode_header_value(value: &str) -> Option<Cow<'_, str>> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok().map(Cow::Owned),
        None => Some(Cow::Borrowed(value)),
    }
}

/// Adds the members that the stateless revision requires to a result of the gateway.
pub fn add_result_type(mut result: Value) -> Value {
    if let Some(object) = result.as_object_mut() {
        object.insert("resultType".to_owned(), "complete".into());
        let meta = object.entry("_meta").or_insert_with(|| json!({}));
        if let Some(meta) = meta.as_object_mut() {
            meta.entry(META_SERVER).or_insert_with(server_info);
        }
    }
    result
}

/// Adds `resultType` to a server's result; older revisions do not have it.
pub fn add_result_type_raw(result: &RawValue) -> Cow<'_, str> {
    let text = result.get();
    match RawFields::read(result) {
        Ok(fields) if fields.get("resultType").is_none() => {
            let rest = text.trim_start().strip_prefix('{').unwrap_or_default();
            let comma = if fields.iter().next().is_some() { "," } else { "" };
            Cow::Owned(format!(r#"{{"resultType":"complete"{comma}{rest}"#))
        }
        _ => Cow::Borrowed(text),
    }
}

/// Adds cache members to a result; older revisions do not have them.
pub fn add_cache_members(result: &str) -> Cow<'_, str> {
    let says = serde_json::from_str::<&RawValue>(result)
        .and_then(RawFields::read)
        .is_ok_and(|fields| fields.get("ttlMs").is_some() && fields.get("cacheScope").is_some());
    match result.trim_end().strip_suffix('}') {
        Some(head) if !says => Cow::Owned(format!(r#"{head},"ttlMs":0,"cacheScope":"private"}}"#)),
        _ => Cow::Borrowed(result),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(version: &str) -> Box<RawValue> {
        let meta = json!({ META_VERSION: version, META_CAPABILITIES: {} });
        rpc::raw(json!({ "name": "db.task.get", "arguments": {}, "_meta": meta }).to_string())
    }

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), value.parse().unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    fn check(pairs: &[(&'static str, &str)], params: &RawValue) -> Result<(), i32> {
        let meta = StatelessMeta::parse(Some(params));
        check_stateless(&headers(pairs), "tools/call", Some(params), meta.as_ref())
            .map_err(|error| error.code)
    }

    #[test]
    fn a_stateless_request_needs_headers_that_repeat_its_body() {
        let version = ("mcp-protocol-version", STATELESS);
        let method = ("mcp-method", "tools/call");
        let params = call(STATELESS);

        assert_eq!(check(&[version, method, ("mcp-name", "db.task.get")], &params), Ok(()));
        assert_eq!(
            check(&[version, method, ("mcp-name", "=?base64?ZGIudGFzay5nZXQ=?=")], &params),
            Ok(())
        );
        for wrong in [
            &[method, ("mcp-name", "db.task.get")][..],
            &[version, ("mcp-name", "db.task.get")],
            &[version, method],
            &[version, method, ("mcp-name", "db.task.list")],
            &[version, method, ("mcp-name", "=?base64?!?=")],
            &[version, method, ("mcp-name", "db.task.get"), ("mcp-name", "db.task.list")],
            &[version, ("mcp-method", "tools/list"), ("mcp-name", "db.task.get")],
            &[("mcp-protocol-version", "2025-11-25"), method, ("mcp-name", "db.task.get")],
        ] {
            assert_eq!(check(wrong, &params), Err(rpc::HEADER_MISMATCH), "{wrong:?}");
        }
    }

    #[test]
    fn an_unknown_version_is_refused_with_the_list_of_known_ones() {
        let params = call("2099-01-01");
        let pairs = headers(&[("mcp-protocol-version", "2099-01-01")]);

        let meta = StatelessMeta::parse(Some(&params));
        let error =
            check_stateless(&pairs, "tools/call", Some(&params), meta.as_ref()).unwrap_err();

        assert_eq!(error.code, rpc::UNSUPPORTED_VERSION);
        assert_eq!(error.data, Some(json!({"supported": VERSIONS, "requested": "2099-01-01"})));
    }

    #[test]
    fn the_era_of_a_request_is_read_from_body_then_header() {
        let stateless = call(STATELESS);
        let meta = StatelessMeta::parse(Some(&stateless));
        let none = HeaderMap::new();

        assert!(is_stateless(&none, "tools/call", meta.as_ref()));
        assert!(is_stateless(&none, "server/discover", None));
        assert!(is_stateless(&headers(&[("mcp-protocol-version", "2099-01-01")]), "ping", None));
        assert!(!is_stateless(&headers(&[("mcp-protocol-version", "2025-06-18")]), "ping", None));
        assert!(!is_stateless(&none, "tools/call", None));
        assert!(!is_stateless(
            &headers(&[("mcp-protocol-version", STATELESS)]),
            "initialize",
            None
        ));
        assert!(is_stateless(&none, "initialize", meta.as_ref()));
    }

    #[test]
    fn versions_are_negotiated_down_to_one_we_know() {
        assert_eq!(negotiate_version("2025-03-26"), "2025-03-26");
        assert_eq!(negotiate_version("2026-07-28"), NEWEST_SESSION);
        assert_eq!(negotiate_version("nonsense"), NEWEST_SESSION);
    }

    #[test]
    fn results_of_older_servers_get_a_type_and_others_keep_theirs() {
        let raw = |text: &str| rpc::raw(text.to_owned());

        assert_eq!(add_result_type_raw(&raw("{}")), r#"{"resultType":"complete"}"#);
        assert_eq!(add_result_type_raw(&raw(r#"{ "a":1}"#)), r#"{"resultType":"complete", "a":1}"#);
        assert_eq!(
            add_result_type_raw(&raw(r#"{"resultType":"input_required"}"#)),
            r#"{"resultType":"input_required"}"#
        );
    }
}
