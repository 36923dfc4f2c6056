//! The one place where requests are sent to a provider and answers read.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Method, Response};
use secrecy::ExposeSecret;

use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::endpoint::is_loopback;
use crate::{BadEndpoint, Endpoint, Key, Limits, Phase, ProviderError, status};

/// A connection to one provider, without anybody's credential.
#[derive(Debug)]
pub(crate) struct Http {
    client: reqwest::Client,
    base: Url,
    pub(crate) limits: Limits,
}

/// A request that is about to be sent.
pub(crate) struct Call<'a> {
    pub(crate) method: Method,
    /// What follows the base address.
    pub(crate) path: &'a [&'a str],
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Vec<u8>>,
}

impl<'a> Call<'a> {
    pub(crate) fn get(path: &'a [&'a str]) -> Self {
        Self { method: Method::GET, path, headers: HeaderMap::new(), body: None }
    }

    pub(crate) fn post(path: &'a [&'a str], body: &impl Serialize) -> Result<Self, ProviderError> {
        let body = serde_json::to_vec(body)
            .map_err(|error| ProviderError::unsayable(error.to_string()))?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self { method: Method::POST, path, headers, body: Some(body) })
    }

    /// Adds a header that carries `secret` after `scheme`.
    pub(crate) fn authorize(
        mut self,
        name: HeaderName,
        scheme: &str,
        secret: Option<&Key>,
    ) -> Result<Self, ProviderError> {
        let Some(secret) = secret else { return Ok(self) };
        let text = format!("{scheme}{}", secret.expose_secret());
        let mut value = HeaderValue::from_str(&text).map_err(|_| ProviderError::Unauthorized {
            message: "it has characters that no header can carry".to_owned(),
        })?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }
}

impl Http {
    pub(crate) fn new(endpoint: &Endpoint, base: Url) -> Result<Self, BadEndpoint> {
        let mut builder = reqwest::Client::builder()
            .connect_timeout(endpoint.limits.connect)
            // A redirect would carry prompt and credential to an address that nobody set up.
            .redirect(Policy::none())
            .user_agent(concat!("cynode/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&base) {
            // A proxy could not reach this machine's own ports.
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| BadEndpoint(error.to_string()))?;
        Ok(Self { client, base, limits: endpoint.limits.clone() })
    }

    /// Sends a request and waits for the head of its answer; anything but success is an error.
    pub(crate) async fn send(
        &self,
        call: Call<'_>,
        secret: Option<&Key>,
        patience: Duration,
    ) -> Result<Response, ProviderError> {
        let mut url = self.base.clone();
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(call.path);
        }
        let mut request = self.client.request(call.method, url).headers(call.headers);
        if let Some(body) = call.body {
            request = request.body(body);
        }
        let sent = tokio::time::timeout(patience, request.send()).await;
        let response =
            sent.map_err(|_| ProviderError::Timeout { phase: Phase::Begin })?.map_err(broken)?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (head, headers) = (response.status(), response.headers().clone());
        // What an error says is worth a few words, and never worth a wait.
        let body = tokio::time::timeout(self.limits.go_on, read(response, status::ERROR_BYTES));
        let body = body.await.ok().and_then(Result::ok).unwrap_or_default();
        Err(status::judge(head, &headers, &body, secret))
    }

    /// Sends a request and reads its answer as JSON.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        call: Call<'_>,
        secret: Option<&Key>,
    ) -> Result<T, ProviderError> {
        let patience = self.limits.finish;
        let whole = async {
            let response = self.send(call, secret, patience).await?;
            read(response, self.limits.answer_bytes).await
        };
        let late = |_| ProviderError::Timeout { phase: Phase::Finish };
        let body = tokio::time::timeout(patience, whole).await.map_err(late)??;
        parse(&body, secret)
    }
}

/// Reads the value that an answer holds; an error in place of it is told as one.
pub(crate) fn parse<T: DeserializeOwned>(
    body: &[u8],
    secret: Option<&Key>,
) -> Result<T, ProviderError> {
    serde_json::from_slice(body).map_err(|error| match status::error_in(body, secret) {
        Some(told) => told,
        None => ProviderError::malformed(error.to_string()),
    })
}

/// Reads a body of at most `limit` bytes.
pub(crate) async fn read(mut response: Response, limit: usize) -> Result<Bytes, ProviderError> {
    let mut whole = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(broken)? {
        if whole.len().saturating_add(piece.len()) > limit {
            return Err(ProviderError::TooLarge { limit });
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.into())
}

/// What a failure of the connection means.
pub(crate) fn broken(error: reqwest::Error) -> ProviderError {
    if error.is_timeout() && error.is_connect() {
        return ProviderError::Timeout { phase: Phase::Connect };
    }
    if error.is_connect() {
        return ProviderError::Connect { reason: root_cause(&error.without_url()) };
    }
    if error.is_builder() {
        return ProviderError::unsayable(error.without_url().to_string());
    }
    ProviderError::Truncated
}

/// The innermost reason: the outer ones only say that a request failed.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
