//! Requests to the API of one forge: authorization, limits, pages, and classification of errors.
//!
//! Start at [`ForgeHttp::send`]. URLs that a forge returns are never requested: pages are counted, and a redirect is
//! followed only to the same origin.

mod failure;
mod pages;
mod request;

use http::header::{AUTHORIZATION, CONTENT_LENGTH, LOCATION};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use reqwest::{Client, Response, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde::de::DeserializeOwned;

use cynode_network::{NetworkReach, is_internal};
use cynode_runtime::clock::SharedClock;

pub(crate) use request::ForgeRequest;

use crate::error::ForgeError;
use crate::options::{ForgeLimits, ForgeOptions};

/// Redirects of one request.
const MAX_REDIRECTS: usize = 3;

/// How a forge is addressed: its API, and the form of its credentials.
pub(crate) struct ApiProfile {
    pub(crate) api_url: Url,
    /// `Bearer` or `token`.
    pub(crate) scheme: &'static str,
    pub(crate) headers: Vec<(&'static str, &'static str)>,
    /// The name of the query parameter for the size of a page.
    pub(crate) page_size_key: &'static str,
}

/// The HTTP client of one forge.
pub(crate) struct ForgeHttp {
    client: Client,
    pub(crate) profile: ApiProfile,
    authorization: HeaderValue,
    token: SecretString,
    reach: NetworkReach,
    pub(crate) limits: ForgeLimits,
    clock: SharedClock,
}

/// A successful answer.
pub(crate) struct ForgeResponse {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl ForgeHttp {
    pub(crate) fn new(options: &ForgeOptions, profile: ApiProfile) -> Result<Self, ForgeError> {
        let wrong = |reason: &str| ForgeError::Misconfigured { reason: reason.to_owned() };
        check_scheme(&options.instance.base_url, &options.reach).map_err(wrong)?;
        let value = format!("{} {}", profile.scheme, options.token.expose_secret());
        let mut authorization = HeaderValue::from_str(&value)
            .map_err(|_| wrong("its token has characters that no header can carry"))?;
        authorization.set_sensitive(true);
        if options.token.expose_secret().is_empty() {
            return Err(wrong("it has no token"));
        }
        let client = options.reach.client(options.limits.connect_timeout).build();
        Ok(Self {
            client: client.map_err(|_| wrong("its HTTP client cannot be built"))?,
            profile,
            authorization,
            token: options.token.clone(),
            reach: options.reach.clone(),
            limits: options.limits,
            clock: options.clock.clone(),
        })
    }

    /// Sends a request and parses its answer.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        request: &ForgeRequest,
    ) -> Result<T, ForgeError> {
        let response = self.send(request).await?;
        parse(&response.body, request)
    }

    /// Sends a request, within the limits of time and size.
    pub(crate) async fn send(&self, request: &ForgeRequest) -> Result<ForgeResponse, ForgeError> {
        let url = request.url(&self.profile.api_url)?;
        let sent = self.follow_redirects(request, url);
        let result = match tokio::time::timeout(self.limits.request_timeout, sent).await {
            Ok(result) => result,
            Err(_) => Err(ForgeError::Unavailable {
                reason: "it did not answer in time".to_owned(),
                may_have_applied: request.is_write(),
            }),
        };
        if let Err(error) = &result {
            let host = self.profile.api_url.host_str().unwrap_or_default();
            tracing::debug!(forge.host = host, what = request.what, %error, "forge request failed");
        }
        result
    }

    async fn follow_redirects(
        &self,
        request: &ForgeRequest,
        mut url: Url,
    ) -> Result<ForgeResponse, ForgeError> {
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send_once(request, url.clone()).await?;
            match redirect_target(&response, request, &url)? {
                Some(target) => url = target,
                None => return self.read(response, request).await,
            }
        }
        Err(invalid("it redirects too often"))
    }

    async fn send_once(&self, request: &ForgeRequest, url: Url) -> Result<Response, ForgeError> {
        let internal = || ForgeError::Misconfigured {
            reason: "its address is in an internal network; an administrator can allow that"
                .to_owned(),
        };
        self.reach.check(&url).map_err(|_| internal())?;
        let mut outgoing = self
            .client
            .request(request.method.clone(), url)
            .header(AUTHORIZATION, self.authorization.clone());
        for (name, value) in &self.profile.headers {
            let name = HeaderName::from_static(name);
            outgoing = outgoing.header(name, HeaderValue::from_static(value));
        }
        if let Some(body) = &request.body {
            outgoing = outgoing.json(body);
        }
        outgoing.send().await.map_err(|error| {
            if is_internal(&error) { internal() } else { unreachable(&error, request) }
        })
    }

    async fn read(
        &self,
        mut response: Response,
        request: &ForgeRequest,
    ) -> Result<ForgeResponse, ForgeError> {
        let limit = self.limits.max_response_bytes;
        let too_large = || invalid(&format!("it is larger than {limit} bytes"));
        let announced = response.headers().get(CONTENT_LENGTH);
        let announced = announced.and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
        if announced.is_some_and(|length| length > limit) {
            return Err(too_large());
        }
        let mut body = Vec::new();
        while let Some(chunk) =
            response.chunk().await.map_err(|error| unreachable(&error, request))?
        {
            if body.len() + chunk.len() > limit {
                return Err(too_large());
            }
            body.extend_from_slice(&chunk);
        }
        let (status, headers) = (response.status(), response.headers().clone());
        if status.is_success() {
            return Ok(ForgeResponse { headers, body });
        }
        let now = self.clock.now();
        Err(failure::classify(status, &headers, &body, request, now, &self.token))
    }
}

/// The token would be readable on the way with plain http.
fn check_scheme(base_url: &Url, reach: &NetworkReach) -> Result<(), &'static str> {
    let is_loopback = match base_url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    };
    match base_url.scheme() {
        "https" => Ok(()),
        "http" if is_loopback || *reach == NetworkReach::Anywhere => Ok(()),
        _ => Err("its address must use https, unless an administrator configured it as internal"),
    }
}

/// The target of a redirect; `None` if the response is not one.
fn redirect_target(
    response: &Response,
    request: &ForgeRequest,
    from: &Url,
) -> Result<Option<Url>, ForgeError> {
    let status = response.status();
    if !status.is_redirection() || status == StatusCode::NOT_MODIFIED {
        return Ok(None);
    }
    let target = response.headers().get(LOCATION).and_then(|target| target.to_str().ok());
    let target = target.and_then(|target| from.join(target).ok());
    let target = target.ok_or_else(|| invalid("it redirects without a target"))?;
    if target.origin() != from.origin() {
        return Err(invalid("it redirects to another host; the token is not sent there"));
    }
    let keeps_method = matches!(status.as_u16(), 307 | 308) || request.method == Method::GET;
    if !keeps_method {
        return Err(ForgeError::Rejected {
            reason: "the repository has a new address: use that one".to_owned(),
        });
    }
    Ok(Some(target))
}

/// Parses an answer. The error has its position only, because the text is not trusted.
pub(crate) fn parse<T: DeserializeOwned>(
    body: &[u8],
    request: &ForgeRequest,
) -> Result<T, ForgeError> {
    serde_json::from_slice(body).map_err(|error| {
        let problem = match error.classify() {
            serde_json::error::Category::Data => "has unexpected JSON",
            serde_json::error::Category::Io
            | serde_json::error::Category::Syntax
            | serde_json::error::Category::Eof => "is not JSON",
        };
        let (line, column) = (error.line(), error.column());
        invalid(&format!("{} {problem} at line {line}, column {column}", request.what))
    })
}

pub(crate) fn invalid(reason: &str) -> ForgeError {
    ForgeError::InvalidAnswer { reason: reason.to_owned() }
}

fn unreachable(error: &reqwest::Error, request: &ForgeRequest) -> ForgeError {
    let reason = if error.is_connect() {
        "no connection can be made"
    } else if error.is_timeout() {
        "it did not answer in time"
    } else {
        "it closed the connection"
    };
    let may_have_applied = request.is_write() && !error.is_connect();
    ForgeError::Unavailable { reason: reason.to_owned(), may_have_applied }
}
