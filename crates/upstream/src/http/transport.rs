//! Sends HTTP requests: directly, or through a general client with TLS and proxies.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use reqwest::{Client, Url};

use super::super::link::UpstreamLinkError;
use super::plain::{self, DirectHttp};
use crate::interface::UpstreamError;
use cynode_network::NetworkReach;

/// Reported for a server in an internal network that a user without that right installed.
pub(super) const INTERNAL: &str =
    "it is in an internal network; only an administrator may open that";
pub(super) const UNREACHABLE: &str = "it cannot be reached";
pub(super) const BROKEN: &str = "the connection broke";

pub(super) struct OutgoingHttpRequest {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// The transport to one URL.
pub(super) enum HttpTransport {
    /// A direct connection to the address.
    Plain(DirectHttp),
    /// A general HTTP client with TLS and proxies.
    General { client: Client, url: Url },
}

/// A response whose body is still to be read.
pub(super) enum UpstreamHttpResponse {
    Plain(plain::DirectHttpResponse),
    General(reqwest::Response),
}

impl HttpTransport {
    /// The transport to `url`, restricted to `reach`. Fails with the reason.
    pub(super) fn new(
        url: Url,
        reach: &NetworkReach,
        connect_timeout: Duration,
    ) -> Result<Self, &'static str> {
        reach.check(&url).map_err(|_| INTERNAL)?;
        // A proxy could not reach this machine's own ports, and must not see what goes there.
        let is_direct = is_loopback(&url) || matches!(reach, NetworkReach::Public(_));
        let plain = is_direct.then(|| DirectHttp::for_url(&url, reach, connect_timeout)).flatten();
        if let Some(plain) = plain {
            return Ok(Self::Plain(plain));
        }
        // Redirects are not followed: credentials are for the configured address only.
        let mut builder = reach.client(connect_timeout);
        if is_direct {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|_| "the HTTP client cannot be created")?;
        Ok(Self::General { client, url })
    }

    /// Closes idle connections; the general client does so by itself.
    pub(super) fn sweep(&self) {
        if let Self::Plain(plain) = self {
            plain.sweep();
        }
    }

    /// Sends a request; returns when the response headers arrived.
    pub(super) async fn send(
        &self,
        outgoing: OutgoingHttpRequest,
    ) -> Result<UpstreamHttpResponse, UpstreamLinkError> {
        match self {
            Self::Plain(plain) => plain.send(outgoing).await.map(UpstreamHttpResponse::Plain),
            Self::General { client, url } => {
                let mut request = reqwest::Request::new(outgoing.method, url.clone());
                *request.headers_mut() = outgoing.headers;
                *request.body_mut() = Some(outgoing.body.into());
                let sent = client.execute(request).await;
                sent.map(UpstreamHttpResponse::General).map_err(|error| classify_error(&error))
            }
        }
    }
}

impl UpstreamHttpResponse {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Plain(answer) => answer.0.head.status(),
            Self::General(answer) => answer.status(),
        }
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        match self {
            Self::Plain(answer) => answer.0.head.headers(),
            Self::General(answer) => answer.headers(),
        }
    }

    /// The next chunk of the body; `None` at its end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, UpstreamLinkError> {
        match self {
            Self::Plain(answer) => answer.chunk().await,
            Self::General(answer) => answer.chunk().await.map_err(|error| classify_error(&error)),
        }
    }
}

/// Classifies an error, without the address: it may hold a secret.
fn classify_error(error: &reqwest::Error) -> UpstreamLinkError {
    if error.is_timeout() {
        UpstreamLinkError::Failed(UpstreamError::Timeout)
    } else if cynode_network::is_internal(error) {
        UpstreamLinkError::unavailable(INTERNAL)
    } else if error.is_connect() {
        UpstreamLinkError::unavailable(UNREACHABLE)
    } else {
        UpstreamLinkError::unavailable(BROKEN)
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let host = host.trim_matches(['[', ']']);
            host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}
