//! Plain HTTP requests: one connection to the server for each.

use http::header::{
    CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION,
    TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::uri::PathAndQuery;
use http::{Request, Response, Uri, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;

use super::tunnel::{SANDBOX_GONE, ServerConnection};
use super::{ConnectionPermits, IDLE_TIMEOUT, ProxyBody, Refusal, SandboxProxy};

impl SandboxProxy {
    /// Sends a request to its server, and returns the response.
    pub(super) async fn forward(
        &self,
        request: Request<Incoming>,
        server: ServerConnection,
        permits: ConnectionPermits,
    ) -> Result<Response<ProxyBody>, Refusal> {
        let summary = server.summary();
        let handshake = http1::handshake::<_, Incoming>(TokioIo::new(server)).await;
        let (mut sender, connection) = handshake.map_err(|_| Refusal::Unreachable)?;
        let proxy = self.clone();
        self.tasks.spawn_until_finish("proxy-forward", async move {
            let reason = tokio::select! {
                ended = connection => ended.err().map(|_| "the connection was reset"),
                () = summary.traffic.wait_idle(IDLE_TIMEOUT) => Some("nothing was sent for too long"),
                () = proxy.closed.cancelled() => Some(SANDBOX_GONE),
            };
            drop(permits);
            proxy.record_end(&summary, reason).await;
        });
        let request = to_origin_form(request).map_err(Refusal::Invalid)?;
        let mut response = sender.send_request(request).await.map_err(|_| Refusal::Unreachable)?;
        remove_hop_headers(response.headers_mut());
        Ok(response.map(|body| body.map_err(Into::into).boxed_unsync()))
    }
}

/// The request as a server expects it, without what concerns only the proxy.
fn to_origin_form<B>(request: Request<B>) -> Result<Request<B>, &'static str> {
    let (mut head, body) = request.into_parts();
    let authority = head.uri.authority().ok_or("the URL names no host")?;
    let host = HeaderValue::from_str(authority.as_str()).map_err(|_| "the host is invalid")?;
    let path = head.uri.path_and_query().cloned();
    head.uri = Uri::from(path.unwrap_or_else(|| PathAndQuery::from_static("/")));
    head.version = Version::HTTP_11;
    remove_hop_headers(&mut head.headers);
    head.headers.insert(HOST, host);
    // One request for each connection.
    head.headers.insert(CONNECTION, HeaderValue::from_static("close"));
    Ok(Request::from_parts(head, body))
}

/// Removes headers that apply to one connection only.
fn remove_hop_headers(headers: &mut HeaderMap) {
    let listed: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    let known = [
        CONNECTION,
        HeaderName::from_static("keep-alive"),
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        HeaderName::from_static("proxy-connection"),
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
    ];
    for name in listed.iter().chain(&known) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_sees_neither_the_proxy_nor_headers_of_the_connection() {
        let request = Request::get("http://a.example:8080/path?x=1")
            .header(HOST, "a.example:8080")
            .header("Proxy-Authorization", "Basic c2VjcmV0")
            .header("Connection", "x-secret, Upgrade")
            .header("Upgrade", "websocket")
            .header("X-Secret", "1")
            .header("X-Kept", "2")
            .body(())
            .unwrap();

        let sent = to_origin_form(request).unwrap();

        assert_eq!(sent.uri(), "/path?x=1");
        assert_eq!(sent.headers()[HOST], "a.example:8080");
        let mut names: Vec<_> = sent.headers().keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["connection", "host", "x-kept"]);
        assert_eq!(sent.headers()[CONNECTION], "close");
    }
}
