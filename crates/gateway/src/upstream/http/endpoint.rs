//! One HTTP endpoint: what every request to it carries, and how much of an answer is read.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use reqwest::Url;
use serde_json::Value;

use super::super::hub::Hub;
use super::super::link::LinkError;
use super::super::message::Outgoing;
use super::super::{SeenTool, UpstreamOptions};
use super::transport::{Answer, Transport, Wanted};
use crate::mirror::{self, Mirrored};
use crate::outbound::Reach;
use crate::protocol::{SESSION_HEADER, STATELESS, VERSION_HEADER};
use crate::seams::UpstreamError;

const METHOD_HEADER: HeaderName = HeaderName::from_static("mcp-method");
const NAME_HEADER: HeaderName = HeaderName::from_static("mcp-name");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const JSON_OR_STREAM: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
/// Headers that are ours to set, whatever a server's configuration says.
const OURS: [&str; 11] = [
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

/// How requests of one conversation introduce themselves.
#[derive(Default, Clone)]
pub(super) struct Voice {
    pub(super) session: Option<HeaderValue>,
    pub(super) version: Option<HeaderValue>,
    pub(super) is_stateless: bool,
}

impl Voice {
    pub(super) fn stateless() -> Self {
        let version = Some(HeaderValue::from_static(STATELESS));
        Self { session: None, version, is_stateless: true }
    }
}

/// An endpoint that any number of conversations use.
pub(in super::super) struct Endpoint {
    transport: Transport,
    /// The configured headers; their values are secret.
    headers: HeaderMap,
    pub(super) options: Arc<UpstreamOptions>,
    /// The arguments of each tool that headers repeat, as the server last described them.
    mirrored: ArcSwapOption<HashMap<String, Vec<Mirrored>>>,
}

impl Endpoint {
    /// Prepares requests to `url`; says what is wrong with the configuration.
    pub(in super::super) fn new(
        url: &str,
        headers: &BTreeMap<String, String>,
        reach: &Reach,
        options: &Arc<UpstreamOptions>,
    ) -> Result<Self, UpstreamError> {
        let wrong = |reason: &str| UpstreamError::Unavailable(reason.to_owned());
        let url = Url::parse(url).map_err(|_| wrong("its address is no URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("its address is neither http nor https"));
        }
        let transport = Transport::new(url, reach, options.connect_timeout).map_err(wrong)?;
        let headers =
            configured(headers).ok_or_else(|| wrong("a configured header is not valid"))?;
        let options = Arc::clone(options);
        Ok(Self { transport, headers, options, mirrored: ArcSwapOption::empty() })
    }

    /// Closes connections that nobody used for long.
    pub(in super::super) fn sweep(&self) {
        self.transport.sweep();
    }

    /// These are the tools of the server now.
    pub(in super::super) fn learn(&self, tools: &[SeenTool]) {
        let mirrored = |tool: &SeenTool| {
            let found = mirror::declared(tool.definition.get("inputSchema")?).ok()?;
            (!found.is_empty()).then(|| (tool.name.clone(), found))
        };
        self.mirrored.store(Some(Arc::new(tools.iter().filter_map(mirrored).collect())));
    }

    /// Whether anybody looked at the tools of the server yet.
    pub(in super::super) fn has_learnt(&self) -> bool {
        self.mirrored.load().is_some()
    }

    /// Adds the headers that repeat arguments of a call.
    fn repeat(&self, call: &Outgoing, headers: &mut HeaderMap) {
        let all = self.mirrored.load();
        let name = call.name.as_deref().filter(|_| call.method == "tools/call");
        let Some(mirrored) = name.and_then(|name| all.as_ref()?.get(name)) else { return };
        let message: Value = serde_json::from_str(&call.text).unwrap_or_default();
        let arguments = message.pointer("/params/arguments").unwrap_or(&Value::Null);
        for one in mirrored {
            if let Some(value) = one.value(arguments) {
                headers.insert(one.header.clone(), header_text(&value));
            }
        }
    }

    /// Sends a message; gives the answer as soon as it begins.
    pub(super) async fn post(
        &self,
        voice: &Voice,
        text: &str,
        mirrored: Option<&Outgoing>,
    ) -> Result<Answer, LinkError> {
        let mut headers = self.headers_of(voice);
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, JSON_OR_STREAM);
        if let Some(mirrored) = mirrored.filter(|_| voice.is_stateless) {
            headers.insert(METHOD_HEADER, header_text(&mirrored.method));
            self.repeat(mirrored, &mut headers);
            if let Some(name) = &mirrored.name {
                headers.insert(NAME_HEADER, header_text(name));
            }
        }
        let body = Bytes::copy_from_slice(text.as_bytes());
        self.send(Wanted { method: Method::POST, headers, body }).await
    }

    /// The headers of every request as `voice`.
    pub(super) fn headers_of(&self, voice: &Voice) -> HeaderMap {
        let mut headers = self.headers.clone();
        if let Some(session) = &voice.session {
            headers.insert(SESSION_HEADER, session.clone());
        }
        if let Some(version) = &voice.version {
            headers.insert(VERSION_HEADER, version.clone());
        }
        headers
    }

    /// Sends a request; gives the answer as soon as it begins.
    pub(super) async fn send(&self, wanted: Wanted) -> Result<Answer, LinkError> {
        match tokio::time::timeout(self.options.quiet_timeout, self.transport.send(wanted)).await {
            Ok(sent) => sent,
            Err(_) => Err(LinkError::Failed(UpstreamError::Timeout)),
        }
    }

    /// Reads a whole body, up to the limit.
    pub(super) async fn body(
        &self,
        mut response: Answer,
        hub: Option<&Arc<Hub>>,
    ) -> Result<Vec<u8>, LinkError> {
        let limit = self.options.max_response_bytes;
        let announced = response.headers().get(CONTENT_LENGTH);
        let announced: Option<usize> =
            announced.and_then(|length| length.to_str().ok()?.parse().ok());
        if announced.is_some_and(|length| length > limit) {
            return Err(too_large(limit));
        }
        let mut body = Vec::with_capacity(announced.unwrap_or_default());
        while let Some(chunk) = self.chunk(&mut response, hub).await? {
            if body.len() + chunk.len() > limit {
                return Err(too_large(limit));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// The next piece of an answer. Silence is borne as long as the server waits for its client.
    pub(super) async fn chunk(
        &self,
        response: &mut Answer,
        hub: Option<&Arc<Hub>>,
    ) -> Result<Option<Bytes>, LinkError> {
        loop {
            match tokio::time::timeout(self.options.quiet_timeout, response.chunk()).await {
                Ok(chunk) => return chunk,
                Err(_) if hub.is_some_and(|hub| hub.has_questions()) => {}
                Err(_) => return Err(LinkError::Failed(UpstreamError::Timeout)),
            }
        }
    }

    /// How long to wait before coming back to a stream, as the server wished or as we think.
    pub(super) fn pause(&self, wished_ms: Option<u64>, attempt: u32) -> Duration {
        let own = Duration::from_millis(500) * 2_u32.saturating_pow(attempt.min(6));
        wished_ms.map_or(own, Duration::from_millis).min(self.options.quiet_timeout)
    }
}

pub(super) fn too_large(limit: usize) -> LinkError {
    LinkError::protocol(format!("its answer is larger than {limit} bytes"))
}

fn configured(headers: &BTreeMap<String, String>) -> Option<HeaderMap> {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name: HeaderName = name.parse().ok()?;
        if !OURS.contains(&name.as_str()) && !name.as_str().starts_with("mcp-param-") {
            let mut value = HeaderValue::from_str(value).ok()?;
            value.set_sensitive(true);
            map.insert(name, value);
        }
    }
    Some(map)
}

/// Text as a header can carry it: what is no plain text travels as `=?base64?…?=`.
fn header_text(text: &str) -> HeaderValue {
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
        assert_eq!(header_text("files.read"), "files.read");
        assert_eq!(header_text("größe"), "=?base64?Z3LDtsOfZQ==?=");
        assert_eq!(header_text(" x"), "=?base64?IHg=?=");
        assert_eq!(header_text("=?base64?eA==?="), "=?base64?PT9iYXNlNjQ/ZUE9PT89?=");
    }

    #[test]
    fn configured_headers_cannot_replace_those_of_the_protocol() {
        let headers = [("Authorization", "Bearer x"), ("Mcp-Session-Id", "y"), ("Host", "z")];
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into();

        let map = configured(&headers).unwrap();

        assert_eq!(map.len(), 1);
        assert!(map["authorization"].is_sensitive());
        assert!(configured(&[("a b".to_owned(), "x".to_owned())].into()).is_none());
    }
}
