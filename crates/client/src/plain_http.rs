//! Small plain-HTTP requests to an orchestrator, without the general HTTP client.
//!
//! A runner makes many small requests in sequence; the caller's task drives the connection.

use std::time::Duration;

use bytes::Bytes;
use cynode_http::{ConnectionPool, HttpSendError};
use http_body_util::Full;
use reqwest::header::{HOST, HeaderValue, USER_AGENT};
use reqwest::{Request, Url};
use tokio::net::TcpStream;

use crate::request::CLIENT_NAME;

/// The cause of a failure, without the address.
pub(crate) type ConnectionCause = Box<dyn std::error::Error + Send + Sync>;

/// Connections to one orchestrator.
#[derive(Debug, Clone)]
pub(crate) struct PlainHttp {
    host: String,
    port: u16,
    authority: HeaderValue,
    connect_timeout: Duration,
    connections: ConnectionPool,
}

/// A response with its complete body.
#[derive(Debug, Clone)]
pub struct FullResponse {
    pub status: u16,
    pub body: Bytes,
}

impl PlainHttp {
    /// Connections to `base`, if it is plain HTTP; connecting fails after `connect_timeout`.
    pub(crate) fn for_base(base: &Url, patience: Duration) -> Option<Self> {
        if base.scheme() != "http" || !base.username().is_empty() || base.password().is_some() {
            return None;
        }
        let host = base.host_str()?.trim_matches(['[', ']']).to_owned();
        let port = base.port_or_known_default()?;
        let authority = HeaderValue::from_str(base.authority()).ok()?;
        Some(Self {
            host,
            port,
            authority,
            connect_timeout: patience,
            connections: ConnectionPool::default(),
        })
    }

    /// Sends a request with an in-memory body and reads the complete response.
    pub(crate) async fn send(&self, mut request: Request) -> Result<FullResponse, ConnectionCause> {
        let limit = request.timeout().copied().unwrap_or(Duration::MAX);
        let body = request.body_mut().take();
        let body = body.as_ref().and_then(|body| body.as_bytes()).map(Bytes::copy_from_slice);
        let exchange = async {
            let request = self.build_request(&request, body.unwrap_or_default())?;
            let answer = self.connections.send(request, self.connect()).await;
            let answer = answer.map_err(|error| match error {
                HttpSendError::Connect(cause) => cause,
                HttpSendError::ConnectionClosed => {
                    "the connection broke before the response".into()
                }
            })?;
            let status = answer.head.status().as_u16();
            Ok(FullResponse { status, body: answer.read_body().await? })
        };
        tokio::time::timeout(limit, exchange).await?
    }

    fn build_request(
        &self,
        request: &Request,
        body: Bytes,
    ) -> Result<http::Request<Full<Bytes>>, ConnectionCause> {
        let url = request.url();
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let target = format!("{}{query}", url.path()).parse()?;
        let mut plain = http::Request::new(Full::new(body));
        *plain.method_mut() = request.method().clone();
        *plain.uri_mut() = target;
        *plain.headers_mut() = request.headers().clone();
        plain.headers_mut().insert(HOST, self.authority.clone());
        plain.headers_mut().insert(USER_AGENT, HeaderValue::from_static(CLIENT_NAME));
        Ok(plain)
    }

    async fn connect(&self) -> Result<TcpStream, ConnectionCause> {
        let connecting = TcpStream::connect((self.host.as_str(), self.port));
        Ok(tokio::time::timeout(self.connect_timeout, connecting).await??)
    }
}
