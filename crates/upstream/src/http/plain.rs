//! Plain HTTP/1.1 to one address, where neither TLS nor a proxy is needed.

use std::time::Duration;

use bytes::Bytes;
use cynode_http::{ConnectionPool, HttpSendError};
use http::header::{self, HOST};
use http::{HeaderValue, Request, Uri};
use http_body_util::Full;
use reqwest::Url;
use tokio::net::TcpStream;

use super::super::link::UpstreamLinkError;
use super::transport::{BROKEN, INTERNAL, OutgoingHttpRequest, UNREACHABLE};
use crate::interface::UpstreamError;
use cynode_network::{InternalAddress, NetworkReach, USER_AGENT};

/// One address and its idle connections.
pub(super) struct DirectHttp {
    reach: NetworkReach,
    host: String,
    port: u16,
    /// The `Host` header: the host with its port, unless that is the default port.
    authority: HeaderValue,
    target: Uri,
    connect_timeout: Duration,
    connections: ConnectionPool,
}

/// A response whose body is still to be read.
pub(super) struct DirectHttpResponse(pub(super) cynode_http::HttpResponse);

impl DirectHttp {
    /// `None` if `url` needs TLS or credentials.
    pub(super) fn for_url(
        url: &Url,
        reach: &NetworkReach,
        connect_timeout: Duration,
    ) -> Option<Self> {
        let is_plain = url.scheme() == "http" && url.username().is_empty();
        if !is_plain || url.password().is_some() {
            return None;
        }
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        let port = url.port_or_known_default()?;
        let authority = HeaderValue::from_str(url.authority()).ok()?;
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        let target = format!("{}{query}", url.path()).parse().ok()?;
        let (reach, connections) = (reach.clone(), ConnectionPool::default());
        Some(Self { reach, host, port, authority, target, connect_timeout, connections })
    }

    /// Closes idle connections.
    pub(super) fn sweep(&self) {
        self.connections.close_expired();
    }

    /// Sends a request; returns when the response headers arrived.
    pub(super) async fn send(
        &self,
        outgoing: OutgoingHttpRequest,
    ) -> Result<DirectHttpResponse, UpstreamLinkError> {
        let sent = self.connections.send(self.request(outgoing), self.connect()).await;
        sent.map(DirectHttpResponse).map_err(|error| match error {
            HttpSendError::Connect(error) => error,
            HttpSendError::ConnectionClosed => UpstreamLinkError::unavailable(BROKEN),
        })
    }

    fn request(&self, outgoing: OutgoingHttpRequest) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(outgoing.body));
        *request.method_mut() = outgoing.method;
        *request.uri_mut() = self.target.clone();
        *request.headers_mut() = outgoing.headers;
        request.headers_mut().insert(HOST, self.authority.clone());
        request.headers_mut().insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        request
    }

    async fn connect(&self) -> Result<TcpStream, UpstreamLinkError> {
        let connecting = async {
            let addresses = self.reach.resolve(&self.host, self.port).await?;
            TcpStream::connect(addresses.as_slice()).await.map_err(Into::into)
        };
        let connected: Result<TcpStream, Box<dyn std::error::Error + Send + Sync>> =
            tokio::time::timeout(self.connect_timeout, connecting)
                .await
                .map_err(|_| UpstreamLinkError::Failed(UpstreamError::Timeout))?;
        connected.map_err(|error| {
            UpstreamLinkError::unavailable(if error.is::<InternalAddress>() {
                INTERNAL
            } else {
                UNREACHABLE
            })
        })
    }
}

impl DirectHttpResponse {
    /// The next chunk of the body; `None` at its end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, UpstreamLinkError> {
        self.0.next_chunk().await.map_err(|_| UpstreamLinkError::unavailable(BROKEN))
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    fn plain_to(url: &str) -> Option<DirectHttp> {
        DirectHttp::for_url(
            &Url::parse(url).unwrap(),
            &NetworkReach::Anywhere,
            Duration::from_secs(5),
        )
    }

    fn wanted(body: &'static str) -> OutgoingHttpRequest {
        OutgoingHttpRequest { method: Method::POST, headers: HeaderMap::new(), body: body.into() }
    }

    #[tokio::test]
    async fn a_request_names_its_target_and_host() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let authority = listener.local_addr().unwrap().to_string();
        let plain = plain_to(&format!("http://{authority}/mcp?a=b")).unwrap();
        let server = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut heard = vec![0; 4096];
            let length = stream.read(&mut heard).await.unwrap();
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\none";
            stream.write_all(answer.as_bytes()).await.unwrap();
            String::from_utf8_lossy(&heard[..length]).into_owned()
        };
        let client = async { plain.send(wanted("1")).await.unwrap().chunk().await.unwrap() };

        let (heard, answered) = tokio::join!(server, client);

        assert_eq!(answered.as_deref(), Some(b"one".as_slice()));
        assert!(heard.starts_with("POST /mcp?a=b HTTP/1.1\r\n"), "{heard}");
        assert!(heard.contains(&format!("host: {authority}\r\n")), "{heard}");
        assert!(heard.ends_with("\r\n\r\n1"), "{heard}");
    }

    #[tokio::test]
    async fn a_server_that_does_not_listen_cannot_be_reached() {
        let plain = plain_to("http://127.0.0.1:1/mcp").unwrap();

        let refused = plain.send(wanted("1")).await.map(drop);

        assert_eq!(refused, Err(UpstreamLinkError::unavailable(UNREACHABLE)));
    }

    #[test]
    fn what_needs_more_than_a_plain_connection_is_left_to_the_general_client() {
        let takes = |url: &str| plain_to(url).is_some();

        assert!(takes("http://127.0.0.1:1/mcp") && takes("http://[::1]/mcp"));
        assert!(!takes("https://127.0.0.1/mcp") && !takes("http://me:secret@127.0.0.1/mcp"));
    }
}
