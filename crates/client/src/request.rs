//! The client itself, and the one place where requests are sent and answers read.

use std::time::Duration;

use cynode_domain::ids::IncarnationId;
use cynode_wire::nodes::INCARNATION_HEADER;
use cynode_wire::openai::ErrorBody;
use cynode_wire::problem::Problem;
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Host;

use crate::Error;
use crate::chat::problem_of;
use crate::near::{Near, Whole};

/// Longer than any long poll the server grants, so that the server decides when to answer.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The scheme of requests that have no address, so that they are not sent.
const NOWHERE: &str = "nowhere";
/// How we introduce ourselves.
pub(crate) const AGENT: &str = concat!("cynode/", env!("CARGO_PKG_VERSION"));

/// A connection to one orchestrator with one identity. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    /// A shorter way for small requests, where there is one.
    near: Option<Near>,
    base: Url,
    token: Option<SecretString>,
    /// Which process of a worker node calls.
    incarnation: Option<IncarnationId>,
}

impl Client {
    /// A client that has not signed in.
    pub fn anonymous(base_url: &str) -> Result<Self, Error> {
        let bad = |reason: String| Error::BadAddress { url: base_url.to_owned(), reason };
        let base = Url::parse(base_url).map_err(|error| bad(error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(bad("it must begin with http:// or https://".to_owned()));
        }
        let mut builder = reqwest::Client::builder();
        let mut near = None;
        if is_loopback(&base) {
            // A proxy could not reach this machine's own ports, and must not see its tokens.
            builder = builder.no_proxy();
            near = Near::to(&base, CONNECT_TIMEOUT);
        }
        let http = builder
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(AGENT)
            .build()
            .map_err(|error| bad(error.to_string()))?;
        Ok(Self { http, near, base, token: None, incarnation: None })
    }

    /// A client that presents `token` with every request.
    pub fn new(base_url: &str, token: SecretString) -> Result<Self, Error> {
        Ok(Self::anonymous(base_url)?.with_token(token))
    }

    /// The same connection with another identity.
    #[must_use]
    pub fn with_token(mut self, token: SecretString) -> Self {
        self.token = Some(token);
        self
    }

    /// The same connection for a process of a worker node, which every request names.
    #[must_use]
    pub fn with_incarnation(mut self, incarnation: IncarnationId) -> Self {
        self.incarnation = Some(incarnation);
        self
    }

    /// Where requests go.
    pub fn base_url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// A request to the path made of `segments`, each escaped.
    pub(crate) fn request(&self, method: Method, segments: &[&str]) -> RequestBuilder {
        if !segments.iter().all(|name| has_address(name)) {
            return self.http.request(method, format!("{NOWHERE}:"));
        }
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        let mut request = self.http.request(method, url).timeout(REQUEST_TIMEOUT);
        if let Some(incarnation) = self.incarnation {
            request = request.header(INCARNATION_HEADER, incarnation.to_string());
        }
        match &self.token {
            Some(token) => request.bearer_auth(token.expose_secret()),
            None => request,
        }
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, segments: &[&str]) -> Result<T, Error> {
        self.fetch(self.request(Method::GET, segments)).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        body: &impl Serialize,
    ) -> Result<T, Error> {
        self.fetch(self.request(Method::POST, segments).json(body)).await
    }

    pub(crate) async fn post_empty(
        &self,
        segments: &[&str],
        body: &impl Serialize,
    ) -> Result<(), Error> {
        self.exchange(self.request(Method::POST, segments).json(body)).await.map(drop)
    }

    /// Sends a small request and reads the JSON of its answer.
    pub(crate) async fn fetch<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
    ) -> Result<T, Error> {
        self.parse(&self.exchange(request).await?)
    }

    /// The JSON of an answer.
    pub(crate) fn parse<T: DeserializeOwned>(&self, answer: &Whole) -> Result<T, Error> {
        parse(&answer.body, self.base_url())
    }

    /// Sends a small request and takes the whole answer, the shortest way.
    pub(crate) async fn exchange(&self, request: RequestBuilder) -> Result<Whole, Error> {
        let Some(near) = &self.near else {
            let response = send(request).await?;
            let status = response.status().as_u16();
            return Ok(Whole { status, body: response.bytes().await.map_err(unreachable)? });
        };
        let request = request.build().map_err(unreachable)?;
        if is_nowhere(request.url()) {
            return Err(Error::Refused(Box::new(bad_name())));
        }
        let url = request.url().to_string();
        match near.send(request).await {
            Ok(whole) if (200..300).contains(&whole.status) => Ok(whole),
            Ok(Whole { status, body }) => Err(refusal(status, &body, &url)),
            Err(cause) => Err(Error::Unreachable { url, cause }),
        }
    }
}

/// Whether an address can hold a name. One that it cannot would lead somewhere else: what is left out of
/// an address silently makes another name of it.
fn has_address(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['\t', '\n', '\r'])
}

fn is_nowhere(url: &Url) -> bool {
    url.scheme() == NOWHERE
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Sends a request; an answer outside 2xx becomes the server's own [`Problem`].
pub(crate) async fn send(request: RequestBuilder) -> Result<Response, Error> {
    let response = request.send().await.map_err(unreachable)?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let url = response.url().to_string();
    let body = response.bytes().await.map_err(unreachable)?;
    Err(refusal(status.as_u16(), &body, &url))
}

/// What the server said no with: a problem, or an error in OpenAI's shape.
fn refusal(status: u16, body: &[u8], url: &str) -> Error {
    if let Ok(failed) = serde_json::from_slice::<ErrorBody>(body) {
        return Error::Refused(Box::new(problem_of(failed, status)));
    }
    let problem = serde_json::from_slice::<Problem>(body);
    // An orchestrator explains every refusal. A proxy before it may not, when it refuses or is broken.
    if problem.is_err() && !body.is_empty() && matches!(status, 300..=399 | 404 | 405 | 410) {
        let reason = format!("it answered {status} without an explanation");
        return Error::NotOurs { url: url.to_owned(), reason };
    }
    Error::Refused(Box::new(problem.unwrap_or_else(|_| {
        let known = StatusCode::from_u16(status).ok().and_then(|it| it.canonical_reason());
        Problem {
            kind: "about:blank".to_owned(),
            title: known.unwrap_or("error").to_owned(),
            status,
            detail: format!("{url} answered {status} without an explanation"),
            instance: None,
            errors: vec![],
        }
    })))
}

/// What is said about a name that cannot be part of an address.
fn bad_name() -> Problem {
    Problem {
        kind: "about:blank".to_owned(),
        title: "Bad Request".to_owned(),
        status: 400,
        detail: "nothing has that name: a name is one line, not empty, and neither `.` nor `..`"
            .to_owned(),
        instance: None,
        errors: vec![],
    }
}

/// Reads an answer's JSON body.
pub(crate) async fn read<T: DeserializeOwned>(response: Response) -> Result<T, Error> {
    let url = response.url().to_string();
    parse(&response.bytes().await.map_err(unreachable)?, &url)
}

fn parse<T: DeserializeOwned>(body: &[u8], url: &str) -> Result<T, Error> {
    serde_json::from_slice(body).map_err(|error| {
        let (url, reason) = (url.to_owned(), error.to_string());
        if error.is_syntax() {
            return Error::NotOurs { url, reason: format!("its answer is no JSON: {reason}") };
        }
        Error::Unreadable { url, reason }
    })
}

pub(crate) fn unreachable(cause: reqwest::Error) -> Error {
    if cause.url().is_some_and(is_nowhere) {
        return Error::Refused(Box::new(bad_name()));
    }
    let url = cause.url().map(ToString::to_string).unwrap_or_default();
    Error::Unreachable { url, cause: cause.without_url().into() }
}
