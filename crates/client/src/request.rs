//! The client itself; sends requests and parses responses.

use std::time::Duration;

use cynode_domain::ids::{IncarnationId, TraceId};
use cynode_llm_wire::openai::ErrorBody;
use cynode_wire::nodes::INCARNATION_HEADER;
use cynode_wire::problem::Problem;
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Host;

use crate::ClientError;
use crate::chat::problem_from_openai;
use crate::plain_http::{FullResponse, PlainHttp};

/// Longer than any long poll, so that the server ends it.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// The scheme of requests with an invalid path, which are not sent.
const INVALID_SCHEME: &str = "nowhere";
/// User agent.
pub(crate) const CLIENT_NAME: &str = concat!("cynode/", env!("CARGO_PKG_VERSION"));

/// The header of W3C Trace Context.
const TRACEPARENT_HEADER: &str = "traceparent";

/// Version 00, sampled; the span of the caller is a part of a random id.
fn traceparent(trace: TraceId, random: TraceId) -> String {
    let (_, span) = random.as_uuid().as_u64_pair();
    format!("00-{}-{span:016x}-01", trace.as_uuid().simple())
}

/// A client of one orchestrator with one identity. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    /// Fast path for small requests, if available.
    plain_http: Option<PlainHttp>,
    base: Url,
    token: Option<SecretString>,
    /// The incarnation of a worker node, sent with every request.
    incarnation: Option<IncarnationId>,
    /// The trace that every request belongs to.
    trace: Option<TraceId>,
}

impl Client {
    /// A client without a token.
    pub fn anonymous(base_url: &str) -> Result<Self, ClientError> {
        let bad = |reason: String| ClientError::InvalidAddress { url: base_url.to_owned(), reason };
        let base = Url::parse(base_url).map_err(|error| bad(error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(bad("it must start with http:// or https://".to_owned()));
        }
        // The server closes idle connections later.
        let mut builder = reqwest::Client::builder().pool_idle_timeout(IDLE_TIMEOUT);
        let mut near = None;
        if is_loopback(&base) {
            // A proxy cannot reach loopback addresses, and must not see the tokens.
            builder = builder.no_proxy();
            if base.scheme() == "http" {
                // The certificates of the system take some milliseconds to read, and a redirect must not leave the machine.
                builder = builder.tls_certs_only([]);
            }
            near = PlainHttp::for_base(&base, CONNECT_TIMEOUT);
        }
        let http = builder
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(CLIENT_NAME)
            .build()
            .map_err(|error| bad(error.to_string()))?;
        Ok(Self { http, plain_http: near, base, token: None, incarnation: None, trace: None })
    }

    /// A client that sends `token` with every request.
    pub fn new(base_url: &str, token: SecretString) -> Result<Self, ClientError> {
        Ok(Self::anonymous(base_url)?.with_token(token))
    }

    /// The same client with another token.
    #[must_use]
    pub fn with_token(mut self, token: SecretString) -> Self {
        self.token = Some(token);
        self
    }

    /// The same client for one incarnation of a worker node.
    #[must_use]
    pub fn with_incarnation(mut self, incarnation: IncarnationId) -> Self {
        self.incarnation = Some(incarnation);
        self
    }

    /// The same client whose requests belong to this trace.
    #[must_use]
    pub fn with_trace(mut self, trace: TraceId) -> Self {
        self.trace = Some(trace);
        self
    }

    pub fn base_url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// A request to the path of `segments`, each escaped.
    pub(crate) fn request(&self, method: Method, segments: &[&str]) -> RequestBuilder {
        if !segments.iter().all(|name| is_path_segment(name)) {
            return self.http.request(method, format!("{INVALID_SCHEME}:"));
        }
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        let mut request = self.http.request(method, url).timeout(REQUEST_TIMEOUT);
        if let Some(incarnation) = self.incarnation {
            request = request.header(INCARNATION_HEADER, incarnation.to_string());
        }
        if let Some(trace) = self.trace {
            request = request.header(TRACEPARENT_HEADER, traceparent(trace, TraceId::generate()));
        }
        match &self.token {
            Some(token) => request.bearer_auth(token.expose_secret()),
            None => request,
        }
    }

    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        segments: &[&str],
    ) -> Result<T, ClientError> {
        self.fetch(self.request(Method::GET, segments)).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        self.fetch(self.request(Method::POST, segments).json(body)).await
    }

    pub(crate) async fn post_empty(
        &self,
        segments: &[&str],
        body: &impl Serialize,
    ) -> Result<(), ClientError> {
        self.exchange(self.request(Method::POST, segments).json(body)).await.map(drop)
    }

    /// Sends a small request and parses the JSON response.
    pub(crate) async fn fetch<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
    ) -> Result<T, ClientError> {
        self.parse(&self.exchange(request).await?)
    }

    /// Parses a JSON response.
    pub(crate) fn parse<T: DeserializeOwned>(
        &self,
        answer: &FullResponse,
    ) -> Result<T, ClientError> {
        parse_json(&answer.body, self.base_url())
    }

    /// Sends a small request by the fastest path and reads the complete response.
    pub(crate) async fn exchange(
        &self,
        request: RequestBuilder,
    ) -> Result<FullResponse, ClientError> {
        let Some(near) = &self.plain_http else {
            let response = send(request).await?;
            let status = response.status().as_u16();
            return Ok(FullResponse {
                status,
                body: response.bytes().await.map_err(unreachable_error)?,
            });
        };
        let request = request.build().map_err(unreachable_error)?;
        if has_invalid_path(request.url()) {
            return Err(ClientError::Refused(Box::new(invalid_name_problem())));
        }
        let url = request.url().to_string();
        match near.send(request).await {
            Ok(whole) if (200..300).contains(&whole.status) => Ok(whole),
            Ok(FullResponse { status, body }) => Err(parse_rejection(status, &body, &url)),
            Err(cause) => Err(ClientError::Unreachable { url, cause }),
        }
    }
}

/// Whether a name can be a path segment. URL parsing drops or rewrites the others, which would address another
/// resource.
fn is_path_segment(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['\t', '\n', '\r'])
}

fn has_invalid_path(url: &Url) -> bool {
    url.scheme() == INVALID_SCHEME
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Sends a request; a response outside 2xx becomes an [`ClientError::Refused`].
pub(crate) async fn send(request: RequestBuilder) -> Result<Response, ClientError> {
    let response = request.send().await.map_err(unreachable_error)?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let url = response.url().to_string();
    let body = response.bytes().await.map_err(unreachable_error)?;
    Err(parse_rejection(status.as_u16(), &body, &url))
}

/// Parses a rejection: a problem document, or an OpenAI error.
fn parse_rejection(status: u16, body: &[u8], url: &str) -> ClientError {
    if let Ok(failed) = serde_json::from_slice::<ErrorBody>(body) {
        return ClientError::Refused(Box::new(problem_from_openai(failed, status)));
    }
    let problem = serde_json::from_slice::<Problem>(body);
    // An orchestrator sends a problem document with every rejection; a proxy in front of it may not.
    if problem.is_err() && !body.is_empty() && matches!(status, 300..=399 | 404 | 405 | 410) {
        let reason = format!("HTTP {status} without a problem document");
        return ClientError::NotAnOrchestrator { url: url.to_owned(), reason };
    }
    ClientError::Refused(Box::new(problem.unwrap_or_else(|_| {
        let known = StatusCode::from_u16(status).ok().and_then(|it| it.canonical_reason());
        Problem {
            kind: "about:blank".to_owned(),
            title: known.unwrap_or("error").to_owned(),
            status,
            detail: format!("{url} returned HTTP {status} without a problem document"),
            instance: None,
            errors: vec![],
        }
    })))
}

/// The problem for a name that cannot be a path segment.
fn invalid_name_problem() -> Problem {
    Problem {
        kind: "about:blank".to_owned(),
        title: "Bad Request".to_owned(),
        status: 400,
        detail: "invalid name: a name is one line, not empty, and neither `.` nor `..`".to_owned(),
        instance: None,
        errors: vec![],
    }
}

/// Parses a JSON response.
pub(crate) async fn read_json<T: DeserializeOwned>(response: Response) -> Result<T, ClientError> {
    let url = response.url().to_string();
    parse_json(&response.bytes().await.map_err(unreachable_error)?, &url)
}

pub(crate) fn parse_json<T: DeserializeOwned>(body: &[u8], url: &str) -> Result<T, ClientError> {
    serde_json::from_slice(body).map_err(|error| {
        let (url, reason) = (url.to_owned(), error.to_string());
        if error.is_syntax() {
            return ClientError::NotAnOrchestrator {
                url,
                reason: format!("the response is not JSON: {reason}"),
            };
        }
        ClientError::InvalidResponse { url, reason }
    })
}

pub(crate) fn unreachable_error(cause: reqwest::Error) -> ClientError {
    if cause.url().is_some_and(has_invalid_path) {
        return ClientError::Refused(Box::new(invalid_name_problem()));
    }
    let url = cause.url().map(ToString::to_string).unwrap_or_default();
    ClientError::Unreachable { url, cause: cause.without_url().into() }
}
