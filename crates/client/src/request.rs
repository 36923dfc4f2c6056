//! The client itself, and the one place where requests are sent and answers read.

use std::time::Duration;

use cynode_wire::openai::ErrorBody;
use cynode_wire::problem::Problem;
use reqwest::{Method, RequestBuilder, Response, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Host;

use crate::Error;
use crate::chat::problem_of;

/// Longer than any long poll the server grants, so that the server decides when to answer.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A connection to one orchestrator with one identity. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    token: Option<SecretString>,
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
        if is_loopback(&base) {
            // A proxy could not reach this machine's own ports, and must not see its tokens.
            builder = builder.no_proxy();
        }
        let http = builder
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("cynode/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| bad(error.to_string()))?;
        Ok(Self { http, base, token: None })
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

    /// Where requests go.
    pub fn base_url(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// A request to the path made of `segments`, each escaped.
    pub(crate) fn request(&self, method: Method, segments: &[&str]) -> RequestBuilder {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        let request = self.http.request(method, url).timeout(REQUEST_TIMEOUT);
        match &self.token {
            Some(token) => request.bearer_auth(token.expose_secret()),
            None => request,
        }
    }

    pub(crate) async fn get<T: DeserializeOwned>(&self, segments: &[&str]) -> Result<T, Error> {
        read(send(self.request(Method::GET, segments)).await?).await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        segments: &[&str],
        body: &impl Serialize,
    ) -> Result<T, Error> {
        read(send(self.request(Method::POST, segments).json(body)).await?).await
    }

    pub(crate) async fn post_empty(
        &self,
        segments: &[&str],
        body: &impl Serialize,
    ) -> Result<(), Error> {
        send(self.request(Method::POST, segments).json(body)).await.map(drop)
    }
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
    if let Ok(failed) = serde_json::from_slice::<ErrorBody>(&body) {
        return Err(Error::Refused(Box::new(problem_of(failed, status.as_u16()))));
    }
    match serde_json::from_slice::<Problem>(&body) {
        Ok(problem) => Err(Error::Refused(Box::new(problem))),
        Err(_) => Err(Error::Refused(Box::new(Problem {
            kind: "about:blank".to_owned(),
            title: status.canonical_reason().unwrap_or("error").to_owned(),
            status: status.as_u16(),
            detail: format!("{url} answered {status} without an explanation"),
            instance: None,
            errors: vec![],
        }))),
    }
}

/// Reads an answer's JSON body.
pub(crate) async fn read<T: DeserializeOwned>(response: Response) -> Result<T, Error> {
    let url = response.url().to_string();
    let body = response.bytes().await.map_err(unreachable)?;
    serde_json::from_slice(&body)
        .map_err(|error| Error::Unreadable { url, reason: error.to_string() })
}

pub(crate) fn unreachable(cause: reqwest::Error) -> Error {
    let url = cause.url().map(ToString::to_string).unwrap_or_default();
    Error::Unreachable { url, cause: cause.without_url() }
}
