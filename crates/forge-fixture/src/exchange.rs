//! One request and its answer, and pages of lists.

use http::{HeaderMap, Method};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

/// A request that the forge received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedForgeRequest {
    pub method: String,
    /// Path and query as they were sent.
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// A request, with its path split at slashes and decoded.
#[derive(Debug)]
pub(crate) struct ForgeExchange {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) segments: Vec<String>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    /// The user of the token, once it was checked.
    pub(crate) login: String,
}

impl ForgeExchange {
    pub(crate) fn new(method: Method, target: &str, headers: HeaderMap, body: Vec<u8>) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            (decode(key), decode(&value.replace('+', " ")))
        });
        Self {
            method,
            target: target.to_owned(),
            segments: path.trim_matches('/').split('/').map(decode).collect(),
            query: pairs.collect(),
            headers,
            body,
            login: String::new(),
        }
    }

    pub(crate) fn record(&self) -> RecordedForgeRequest {
        let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        };
        RecordedForgeRequest {
            method: self.method.to_string(),
            target: self.target.clone(),
            headers: self.headers.iter().map(header).collect(),
            body: String::from_utf8_lossy(&self.body).into_owned(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn parameter(&self, key: &str) -> Option<&str> {
        self.query.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str())
    }

    pub(crate) fn is_write(&self) -> bool {
        self.method != Method::GET
    }

    /// The entries of the requested page.
    pub(crate) fn page(
        &self,
        entries: Vec<Value>,
        style: &PageStyle,
        base_url: &str,
    ) -> PageOfList {
        let number = |key: &str| self.parameter(key).and_then(|value| value.parse::<usize>().ok());
        let page = number("page").unwrap_or(1).max(1);
        let wanted = number(style.size_key).filter(|size| *size > 0);
        let size = wanted.unwrap_or(style.default_size).min(style.max_size);
        let total = entries.len();
        let entries: Vec<Value> = entries.into_iter().skip((page - 1) * size).take(size).collect();
        let has_next = page * size < total;
        let path = self.target.split('?').next().unwrap_or_default();
        let kept = self.query.iter().filter(|(key, _)| key != "page");
        let kept: Vec<String> = kept.map(|(key, value)| format!("{key}={value}&")).collect();
        let kept = kept.concat();
        let link =
            |page: usize, rel: &str| format!("<{base_url}{path}?{kept}page={page}>; rel=\"{rel}\"");
        let mut headers = Vec::new();
        let mut links = vec![];
        if has_next {
            links.push(link(page + 1, "next"));
            links.push(link(total.div_ceil(size), "last"));
        }
        if page > 1 {
            links.push(link(1, "first"));
            links.push(link(page - 1, "prev"));
        }
        if style.has_links && !links.is_empty() {
            headers.push(("link", links.join(", ")));
        }
        if let Some(name) = style.total_header {
            headers.push((name, total.to_string()));
        }
        PageOfList { entries, headers, total }
    }
}

/// How a forge cuts lists into pages.
pub(crate) struct PageStyle {
    pub(crate) size_key: &'static str,
    pub(crate) default_size: usize,
    pub(crate) max_size: usize,
    pub(crate) has_links: bool,
    pub(crate) total_header: Option<&'static str>,
}

pub(crate) struct PageOfList {
    pub(crate) entries: Vec<Value>,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) total: usize,
}

impl PageOfList {
    /// The page as it is.
    pub(crate) fn answer(self) -> ForgeAnswer {
        let headers = self.headers;
        ForgeAnswer { headers, ..ForgeAnswer::ok(Value::Array(self.entries)) }
    }

    /// The page as a field of an object, with the number of all entries.
    pub(crate) fn answer_as(self, key: &str, mut object: Value) -> ForgeAnswer {
        object[key] = Value::Array(self.entries);
        object["total_count"] = self.total.into();
        ForgeAnswer { headers: self.headers, ..ForgeAnswer::ok(object) }
    }
}

/// An answer of the forge.
#[derive(Debug)]
pub(crate) struct ForgeAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Value,
}

impl ForgeAnswer {
    pub(crate) fn new(status: u16, body: Value) -> Self {
        Self { status, headers: Vec::new(), body }
    }

    pub(crate) fn ok(body: Value) -> Self {
        Self::new(200, body)
    }

    pub(crate) fn message(status: u16, message: &str) -> Self {
        Self::new(status, json!({ "message": message }))
    }

    pub(crate) fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}
