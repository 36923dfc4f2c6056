//! Requests to an orchestrator on this machine, without a general client between.
//!
//! A runner makes many small requests, one after the other: whoever makes one drives its connection.

use std::time::Duration;

use bytes::Bytes;
use cynode_http::{Connections, SendError};
use http_body_util::Full;
use reqwest::header::{HOST, HeaderValue, USER_AGENT};
use reqwest::{Request, Url};
use tokio::net::TcpStream;

use crate::request::AGENT;

/// The causes of a failure, without the address.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The way to one orchestrator.
#[derive(Debug, Clone)]
pub(crate) struct Near {
    host: String,
    port: u16,
    authority: HeaderValue,
    patience: Duration,
    connections: Connections,
}

/// An answer with its whole body.
pub(crate) struct Whole {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
}

impl Near {
    /// The way to `base`, if it is plain HTTP; who cannot be connected to within `patience` is away.
    pub(crate) fn to(base: &Url, patience: Duration) -> Option<Self> {
        if base.scheme() != "http" || !base.username().is_empty() || base.password().is_some() {
            return None;
        }
        let host = base.host_str()?.trim_matches(['[', ']']).to_owned();
        let port = base.port_or_known_default()?;
        let authority = HeaderValue::from_str(base.authority()).ok()?;
        Some(Self { host, port, authority, patience, connections: Connections::default() })
    }

    /// Sends a request whose body is in memory, and waits for the whole answer.
    pub(crate) async fn send(&self, mut request: Request) -> Result<Whole, Cause> {
        let limit = request.timeout().copied().unwrap_or(Duration::MAX);
        let body = request.body_mut().take();
        let body = body.as_ref().and_then(|body| body.as_bytes()).map(Bytes::copy_from_slice);
        let exchange = async {
            let request = self.plain(&request, body.unwrap_or_default())?;
            let answer = self.connections.send(request, self.connect()).await;
            let answer = answer.map_err(|error| match error {
                SendError::Connect(cause) => cause,
                SendError::Broken => "the connection broke before the answer".into(),
            })?;
            let status = answer.head.status().as_u16();
            Ok(Whole { status, body: answer.bytes().await? })
        };
        tokio::time::timeout(limit, exchange).await?
    }

    fn plain(&self, request: &Request, body: Bytes) -> Result<http::Request<Full<Bytes>>, Cause> {
        let url = request.url();
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let target = format!("{}{query}", url.path()).parse()?;
        let mut plain = http::Request::new(Full::new(body));
        *plain.method_mut() = request.method().clone();
        *plain.uri_mut() = target;
        *plain.headers_mut() = request.headers().clone();
        plain.headers_mut().insert(HOST, self.authority.clone());
        plain.headers_mut().insert(USER_AGENT, HeaderValue::from_static(AGENT));
        Ok(plain)
    }

    async fn connect(&self) -> Result<TcpStream, Cause> {
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        Ok(tokio::time::timeout(self.patience, connecting).await??)
    }
}
