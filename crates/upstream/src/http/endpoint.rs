//! One HTTP endpoint: common headers, response size limits and timeouts.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use cynode_domain::backoff::Backoff;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use reqwest::Url;
use serde_json::Value;

use super::super::link::UpstreamLinkError;
use super::super::message::OutgoingRequest;
use super::super::message_router::MessageRouter;
use super::super::{ListedTool, UpstreamOptions};
use super::transport::{HttpTransport, OutgoingHttpRequest, UpstreamHttpResponse};
use crate::interface::UpstreamError;
use crate::mirrored_headers;
use crate::mirrored_headers::MirroredArgument;
use crate::protocol::SESSION_HEADER;
use crate::protocol::STATELESS;
use crate::protocol::VERSION_HEADER;
use cynode_network::NetworkReach;

const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const JSON_OR_STREAM: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
/// Backoff before a stream is resumed.
const RESUME_BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(500), cap: Duration::from_secs(32) };
/// Headers that the gateway sets itself; configured values are ignored.
const RESERVED_HEADERS: [&str; 11] = [
    "accept",
    "connection",
    "content-length",
    "content-type",
    "host",
    "last-event-id",
    "mcp-method",
    "mcp-name",
    "mcp-protocol-version",
    "mcp-session-id",
    "transfer-encoding",
];

/// Session and version headers of one upstream session.
#[derive(Default, Clone)]
pub(super) struct SessionHeaders {
    pub(super) session: Option<HeaderValue>,
    pub(super) version: Option<HeaderValue>,
    pub(super) is_stateless: bool,
}

impl SessionHeaders {
    pub(super) fn stateless() -> Self {
        let version = Some(HeaderValue::from_static(STATELESS));
        Self { session: None, version, is_stateless: true }
    }
}

/// An endpoint that any number of upstream sessions share.
pub(in super::super) struct HttpEndpoint {
    transport: HttpTransport,
    /// The configured headers; their values are secret.
    headers: HeaderMap,
    pub(super) options: Arc<UpstreamOptions>,
    /// The mirrored arguments of each tool, as last listed by the server.
    mirrored: ArcSwapOption<HashMap<String, Vec<MirroredArgument>>>,
}

impl HttpEndpoint {
    /// Validates the configuration and prepares requests to `url`.
    pub(in super::super) fn new(
        url: &str,
        headers: &BTreeMap<String, String>,
        reach: &NetworkReach,
        options: &Arc<UpstreamOptions>,
    ) -> Result<Self, UpstreamError> {
        let wrong = |reason: &str| UpstreamError::Unavailable(reason.to_owned());
        let url = Url::parse(url).map_err(|_| wrong("its address is not a URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("its address is neither http nor https"));
        }
        let transport = HttpTransport::new(url, reach, options.connect_timeout).map_err(wrong)?;
        let headers = parse_configured_headers(headers)
            .ok_or_else(|| wrong("a configured header is not valid"))?;
        let options = Arc::clone(options);
        Ok(Self { transport, headers, options, mirrored: ArcSwapOption::empty() })
    }

    /// Closes idle connections.
    pub(in super::super) fn sweep(&self) {
        self.transport.sweep();
    }

    /// Applies the tool list of the server.
    pub(in super::super) fn apply_tools(&self, tools: &[ListedTool]) {
        let mirrored = |tool: &ListedTool| {
            let found =
                mirrored_headers::parse_mirrored_arguments(tool.definition.get("inputSchema")?)
                    .ok()?;
            (!found.is_empty()).then(|| (tool.name.clone(), found))
        };
        self.mirrored.store(Some(Arc::new(tools.iter().filter_map(mirrored).collect())));
    }

    /// Whether the tools of the server were read yet.
    pub(in super::super) fn has_tools(&self) -> bool {
        self.mirrored.load().is_some()
    }

    /// Adds the headers that mirror arguments of a call.
    fn add_mirrored_headers(&self, call: &OutgoingRequest, headers: &mut HeaderMap) {
        let all = self.mirrored.load();
        let name = call.name.as_deref().filter(|_| call.method == "tools/call");
        let Some(mirrored) = name.and_then(|name| all.as_ref()?.get(name)) else { return };
        let message: Value = serde_json::from_str(&call.text).unwrap_or_default();
        let arguments = message.pointer("/params/arguments").unwrap_or(&Value::Null);
        for one in mirrored {
            if let Some(value) = one.value(arguments) {
                headers.insert(one.header.clone(), encode_header_value(&value));
            }
        }
    }

    /// Posts a message; returns when the response headers arrived.
    pub(super) async fn post(
        &self,
        session_headers: &SessionHeaders,
        text: &str,
        mirrored: Option<&OutgoingRequest>,
    ) -> Result<UpstreamHttpResponse, UpstreamLinkError> {
        let mut headers = self.request_headers(session_headers);
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, JSON_OR_STREAM);
        if let Some(mirrored) = mirrored.filter(|_| session_headers.is_stateless) {
            headers.insert(METHOD_HEADER, encode_header_value(&mirrored.method));
            self.add_mirrored_headers(mirrored, &mut headers);
            if let Some(name) = &mirrored.name {
                headers.insert(NAME_HEADER, encode_header_value(name));
            }
        }
        let body = Bytes::copy_from_slice(text.as_bytes());
        self.send(OutgoingHttpRequest { method: Method::POST, headers, body }).await
    }

    pub(super) fn request_headers(&self, session_headers: &SessionHeaders) -> HeaderMap {
        let mut headers = self.headers.clone();
        if let Some(session) = &session_headers.session {
            headers.insert(SESSION_HEADER, session.clone());
        }
        if let Some(version) = &session_headers.version {
            headers.insert(VERSION_HEADER, version.clone());
        }
        headers
    }

    /// Sends a request; returns when the response headers arrived.
    pub(super) async fn send(
        &self,
        outgoing: OutgoingHttpRequest,
    ) -> Result<UpstreamHttpResponse, UpstreamLinkError> {
        match tokio::time::timeout(self.options.quiet_timeout, self.transport.send(outgoing)).await
        {
            Ok(sent) => sent,
            Err(_) => Err(UpstreamLinkError::Failed(UpstreamError::Timeout)),
        }
    }

    /// Reads a whole body, up to the limit.
    pub(super) async fn read_body(
        &self,
        mut response: UpstreamHttpResponse,
        router: Option<&Arc<MessageRouter>>,
    ) -> Result<Vec<u8>, UpstreamLinkError> {
        let limit = self.options.max_response_bytes;
        let announced = response.headers().get(CONTENT_LENGTH);
        let announced: Option<usize> =
            announced.and_then(|length| length.to_str().ok()?.parse().ok());
        if announced.is_some_and(|length| length > limit) {
            return Err(response_too_large(limit));
        }
        let mut body = Vec::with_capacity(announced.unwrap_or_default());
        while let Some(chunk) = self.next_chunk(&mut response, router).await? {
            if body.len() + chunk.len() > limit {
                return Err(response_too_large(limit));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// The next chunk of a response. The silence limit does not apply while a server request waits
    /// for its client.
    pub(super) async fn next_chunk(
        &self,
        response: &mut UpstreamHttpResponse,
        router: Option<&Arc<MessageRouter>>,
    ) -> Result<Option<Bytes>, UpstreamLinkError> {
        loop {
            match tokio::time::timeout(self.options.quiet_timeout, response.chunk()).await {
                Ok(chunk) => return chunk,
                Err(_) if router.is_some_and(|router| router.has_pending_server_requests()) => {}
                Err(_) => return Err(UpstreamLinkError::Failed(UpstreamError::Timeout)),
            }
        }
    }

    /// The delay before a stream is resumed: the server's `retry`, or exponential backoff.
    pub(super) fn resume_delay(&self, wished_ms: Option<u64>, attempt: u32) -> Duration {
        let own = RESUME_BACKOFF.delay(attempt.saturating_add(1));
        wished_ms.map_or(own, Duration::from_millis).min(self.options.quiet_timeout)
    }
}

pub(super) fn response_too_large(limit: usize) -> UpstreamLinkError {
    UpstreamLinkError::protocol(format!("its response is larger than {limit} bytes"))
}

fn parse_configured_headers(headers: &BTreeMap<String, String>) -> Option<HeaderMap> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name: HeaderName = name.parse().ok()?;
        if !RESERVED_HEADERS.contains(&name.as_str()) && !name.as_str().starts_with("mcp-param-") {
            let mut value = HeaderValue::from_str(value).ok()?;
            value.set_sensitive(true);
            map.insert(name, value);
        }
    }
    Some(map)
}

/// Encodes a header value: text that is not plain ASCII becomes `=?base64?…?=`.
fn encode_header_value(text: &str) -> HeaderValue {
    let is_plain = text.bytes().all(|byte| (0x20..=0x7e).contains(&byte))
        && text.trim_matches([' ', '\t']) == text
        && !(text.starts_with("=?base64?") && text.ends_with("?="));
    let plain = is_plain.then(|| HeaderValue::from_str(text).ok()).flatten();
    plain.unwrap_or_else(|| {
        let encoded = format!("=?base64?{}?=", STANDARD.encode(text));
        HeaderValue::from_str(&encoded).unwrap_or_else(|_| HeaderValue::from_static(""))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_header_can_carry_is_encoded() {
        assert_eq!(encode_header_value("files.read"), "files.read");
        assert_eq!(encode_header_value("größe"), "=?base64?Z3LDtsOfZQ==?=");
        assert_eq!(encode_header_value(" x"), "=?base64?IHg=?=");
        assert_eq!(encode_header_value("=?base64?eA==?="), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
    }

    #[test]
    fn configured_headers_cannot_replace_those_of_the_protocol() {
        let headers = [("Authorization", "Bearer x"), ("Mcp-Session-Id", "y"), ("Host", "z")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();

        let map = parse_configured_headers(&headers).unwrap();

        assert_eq!(map.len(), 1);
        assert!(map["authorization"].is_sensitive());
        assert!(parse_configured_headers(&[("a b".to_owned(), "x".to_owned())].into()).is_none());
    }
}
