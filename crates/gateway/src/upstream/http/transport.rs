//! How requests reach a server over HTTP: directly, or through a general client with TLS and proxies.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use reqwest::{Client, Url};

use super::super::link::LinkError;
use super::plain::{self, Plain};
use crate::outbound::{self, Reach};
use crate::seams::UpstreamError;

/// What is told of a server that somebody without that right put into an internal network.
pub(super) const INTERNAL: &str =
    "it is in an internal network, which only an administrator may open";
pub(super) const UNREACHABLE: &str = "it cannot be reached";
pub(super) const BROKEN: &str = "the connection broke";

/// A request that is to be sent.
pub(super) struct Wanted {
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// The way to one URL.
pub(super) enum Transport {
    /// Straight to the address.
    Plain(Plain),
    /// With all that a client of the web needs.
    General { client: Client, url: Url },
}

/// An answer whose body is still to be read.
pub(super) enum Answer {
    Plain(plain::Answer),
    General(reqwest::Response),
}

impl Transport {
    /// The way to `url`, no further than `reach`; says what is wrong with it.
    pub(super) fn new(
        url: Url,
        reach: &Reach,
        connect_timeout: Duration,
    ) -> Result<Self, &'static str> {
        reach.check(&url).map_err(|_| INTERNAL)?;
        // A proxy could not reach this machine's own ports, and must not see what goes there.
        let is_direct = is_loopback(&url) || matches!(reach, Reach::Public(_));
        let plain = is_direct.then(|| Plain::to(&url, reach, connect_timeout)).flatten();
        if let Some(plain) = plain {
            return Ok(Self::Plain(plain));
        }
        // Redirects are not followed: credentials are for the configured address and no other.
        let mut builder = reach.client(connect_timeout);
        if is_direct {
            builder = builder.no_proxy();
        }
        let client = builder.build().map_err(|_| "no connection can be prepared")?;
        Ok(Self::General { client, url })
    }

    /// Closes connections that nobody used for long; the general client does so by itself.
    pub(super) fn sweep(&self) {
        if let Self::Plain(plain) = self {
            plain.sweep();
        }
    }

    /// Sends a request; gives the answer as soon as it begins.
    pub(super) async fn send(&self, wanted: Wanted) -> Result<Answer, LinkError> {
        match self {
            Self::Plain(plain) => plain.send(wanted).await.map(Answer::Plain),
            Self::General { client, url } => {
                let mut request = reqwest::Request::new(wanted.method, url.clone());
                *request.headers_mut() = wanted.headers;
                *request.body_mut() = Some(wanted.body.into());
                let sent = client.execute(request).await;
                sent.map(Answer::General).map_err(|error| broken(&error))
            }
        }
    }
}

impl Answer {
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

    /// The next piece of the body; nothing at its end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, LinkError> {
        match self {
            Self::Plain(answer) => answer.chunk().await,
            Self::General(answer) => answer.chunk().await.map_err(|error| broken(&error)),
        }
    }
}

/// What went wrong, without the address: it may hold a secret.
fn broken(error: &reqwest::Error) -> LinkError {
    if error.is_timeout() {
        LinkError::Failed(UpstreamError::Timeout)
    } else if outbound::is_internal(error) {
        LinkError::unavailable(INTERNAL)
    } else if error.is_connect() {
        LinkError::unavailable(UNREACHABLE)
    } else {
        LinkError::unavailable(BROKEN)
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
