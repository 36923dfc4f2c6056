//! The HTTP client of providers: the only place that sends requests and reads responses.

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
use crate::{
    InvalidEndpoint, ProviderCredential, ProviderEndpoint, ProviderError, ProviderLimits,
    TimeoutPhase, status,
};

/// An HTTP client of one provider, without credentials.
#[derive(Debug)]
pub(crate) struct ProviderHttpClient {
    client: reqwest::Client,
    base: Url,
    pub(crate) limits: ProviderLimits,
}

/// A request to be sent.
pub(crate) struct ProviderHttpRequest<'a> {
    pub(crate) method: Method,
    /// The segments after the base address.
    pub(crate) path: &'a [&'a str],
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Vec<u8>>,
}

impl<'a> ProviderHttpRequest<'a> {
    pub(crate) fn get(path: &'a [&'a str]) -> Self {
        Self { method: Method::GET, path, headers: HeaderMap::new(), body: None }
    }

    pub(crate) fn post(path: &'a [&'a str], body: &impl Serialize) -> Result<Self, ProviderError> {
        let body = serde_json::to_vec(body)
            .map_err(|error| ProviderError::unsupported(error.to_string()))?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self { method: Method::POST, path, headers, body: Some(body) })
    }

    /// Adds a header that carries `secret` after `scheme`.
    pub(crate) fn with_credential_header(
        mut self,
        name: HeaderName,
        scheme: &str,
        secret: Option<&ProviderCredential>,
    ) -> Result<Self, ProviderError> {
        let Some(secret) = secret else { return Ok(self) };
        let text = format!("{scheme}{}", secret.expose_secret());
        let mut value = HeaderValue::from_str(&text).map_err(|_| ProviderError::Unauthorized {
            message: "it has characters that an HTTP header cannot carry".to_owned(),
        })?;
        value.set_sensitive(true);
        self.headers.insert(name, value);
        Ok(self)
    }
}

impl ProviderHttpClient {
    pub(crate) fn new(endpoint: &ProviderEndpoint, base: Url) -> Result<Self, InvalidEndpoint> {
        let mut builder = reqwest::Client::builder()
            .connect_timeout(endpoint.limits.connect_timeout)
            // A redirect would send prompt and credential to an address that is not configured.
            .redirect(Policy::none())
            .user_agent(concat!("cynode/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&base) {
            // A proxy could not reach this machine's own ports.
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|error| InvalidEndpoint(error.to_string()))?;
        Ok(Self { client, base, limits: endpoint.limits.clone() })
    }

    /// Sends a request and waits for the response head; every status but success is an error.
    pub(crate) async fn send(
        &self,
        call: ProviderHttpRequest<'_>,
        secret: Option<&ProviderCredential>,
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
        let response = sent
            .map_err(|_| ProviderError::Timeout { phase: TimeoutPhase::FirstByte })?
            .map_err(map_connection_error)?;
        if response.status().is_success() {
            return Ok(response);
        }
        let (head, headers) = (response.status(), response.headers().clone());
        // The body of an error is optional: a failed or slow read leaves it empty.
        let body = tokio::time::timeout(
            self.limits.idle_timeout,
            read_body(response, status::ERROR_BYTES),
        );
        let body = body.await.ok().and_then(Result::ok).unwrap_or_default();
        Err(status::classify_response(head, &headers, &body, secret))
    }

    /// Sends a request and parses its response as JSON.
    pub(crate) async fn send_json<T: DeserializeOwned>(
        &self,
        call: ProviderHttpRequest<'_>,
        secret: Option<&ProviderCredential>,
    ) -> Result<T, ProviderError> {
        let patience = self.limits.finish;
        let whole = async {
            let response = self.send(call, secret, patience).await?;
            read_body(response, self.limits.max_answer_bytes).await
        };
        let late = |_| ProviderError::Timeout { phase: TimeoutPhase::WholeAnswer };
        let body = tokio::time::timeout(patience, whole).await.map_err(late)??;
        parse_body(&body, secret)
    }
}

/// Parses the value in a body; an error object in its place becomes an error.
pub(crate) fn parse_body<T: DeserializeOwned>(
    body: &[u8],
    secret: Option<&ProviderCredential>,
) -> Result<T, ProviderError> {
    serde_json::from_slice(body).map_err(|error| match status::parse_error(body, secret) {
        Some(body) => body,
        None => ProviderError::malformed(error.to_string()),
    })
}

/// Reads a body of at most `limit` bytes.
pub(crate) async fn read_body(
    mut response: Response,
    limit: usize,
) -> Result<Bytes, ProviderError> {
    let mut whole = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(map_connection_error)? {
        if whole.len().saturating_add(chunk.len()) > limit {
            return Err(ProviderError::TooLarge { limit });
        }
        whole.extend_from_slice(&chunk);
    }
    Ok(whole.into())
}

/// Maps a failure of the connection.
pub(crate) fn map_connection_error(error: reqwest::Error) -> ProviderError {
    if error.is_timeout() && error.is_connect() {
        return ProviderError::Timeout { phase: TimeoutPhase::Connect };
    }
    if error.is_connect() {
        return ProviderError::Connect { reason: root_cause(&error.without_url()) };
    }
    if error.is_builder() {
        return ProviderError::unsupported(error.without_url().to_string());
    }
    ProviderError::Truncated
}

/// Returns the innermost cause: the outer ones only state that a request failed.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
