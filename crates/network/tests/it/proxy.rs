//! The proxy passes what is allowed, and nothing else reaches a server.

use std::sync::atomic::Ordering;

use axum::Router;
use axum::response::Redirect;
use axum::routing::{get, post};
use cynode_network::proxy::ConnectionEvent;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{Sink, TestProxy, serve_http, serve_https};

#[tokio::test]
async fn https_goes_through_a_tunnel_and_is_recorded() {
    let (port, certificate) = serve_https().await;
    let proxy = TestProxy::start(&[&format!("localhost:{port}")], true).await;
    let client = proxy.client(Some(&certificate));

    let answer = client.get(format!("https://localhost:{port}/")).send().await.unwrap();

    assert_eq!(answer.text().await.unwrap(), "hello");
    let (sent, received, reason) = proxy.log.wait_closed().await;
    assert!(sent > 100 && received > 100, "{sent} {received}");
    assert_eq!(reason, None);
    let (target, opened) = proxy.log.events().into_iter().next().unwrap();
    assert_eq!(target, format!("localhost:{port}"));
    assert!(matches!(opened, ConnectionEvent::Opened { address } if address.ip().is_loopback()));
}

#[tokio::test]
async fn plain_http_is_forwarded() {
    let echo = post(|body: String| async move { format!("got {body}") });
    let port = serve_http(Router::new().route("/echo", echo)).await;
    let proxy = TestProxy::start(&[&format!("127.0.0.1:{port}")], true).await;
    let client = proxy.client(None);

    for body in ["one", "two"] {
        let request = client.post(format!("http://127.0.0.1:{port}/echo")).body(body);
        let answer = request.send().await.unwrap();
        assert_eq!(answer.text().await.unwrap(), format!("got {body}"));
    }
    let opened = |event: &ConnectionEvent| matches!(event, ConnectionEvent::Opened { .. });
    let count = proxy.log.events().iter().filter(|(_, event)| opened(event)).count();
    assert_eq!(count, 2, "each request is recorded");
}

#[tokio::test]
async fn a_host_that_is_not_allowed_is_refused_and_never_reached() {
    let sink = Sink::start().await;
    let proxy = TestProxy::start(&["api.example.com", "localhost:1"], true).await;

    let port = sink.port;
    let (_, tunnel) = proxy.tunnel(&format!("localhost:{port}")).await;
    let url = format!("http://127.0.0.1:{port}/");
    let plain = proxy.client(None).get(url).send().await.unwrap();

    assert!(tunnel.starts_with("HTTP/1.1 403"), "{tunnel}");
    assert!(tunnel.contains("the host is not allowed; ask for it"), "{tunnel}");
    assert!(tunnel.contains("connection: close"), "one request for each connection: {tunnel}");
    assert_eq!(plain.status(), 403);
    assert_eq!(sink.connections.load(Ordering::Relaxed), 0);
    let denied = "the host is not allowed".to_owned();
    let expected =
        [(format!("localhost:{port}"), denied.clone()), (format!("127.0.0.1:{port}"), denied)];
    assert_eq!(proxy.log.refusals(), expected);
}

#[tokio::test]
async fn internal_addresses_are_refused_however_they_are_written() {
    let sink = Sink::start().await;
    let port = sink.port;
    let any = format!("*:{port}");
    let proxy = TestProxy::start(&[&any, "*:80", "*:443"], false).await;

    for host in [
        "localhost",
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "0.0.0.0",
        "[::]",
    ] {
        let (_, answer) = proxy.tunnel(&format!("{host}:{port}")).await;
        assert!(answer.starts_with("HTTP/1.1 403"), "{host}: {answer}");
        let request = format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n");
        let (_, answer) = proxy.send(&request).await;
        assert!(answer.starts_with("HTTP/1.1 403"), "{host}: {answer}");
    }
    for host in ["169.254.169.254", "10.0.0.1", "[fd00:ec2::254]", "[64:ff9b::a00:1]"] {
        let (_, answer) = proxy.tunnel(&format!("{host}:443")).await;
        assert!(answer.starts_with("HTTP/1.1 403"), "{host}: {answer}");
    }
    assert_eq!(sink.connections.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_redirect_leads_nowhere_else() {
    let sink = Sink::start().await;
    let hidden = format!("http://127.0.0.1:{}/", sink.port);
    let port =
        serve_http(Router::new().route("/", get(|| async move { Redirect::to(&hidden) }))).await;
    let proxy = TestProxy::start(&[&format!("localhost:{port}")], true).await;

    let answer = proxy.client(None).get(format!("http://localhost:{port}/")).send().await.unwrap();

    assert_eq!(answer.status(), 403);
    assert_eq!(sink.connections.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_tunnel_carries_only_tls_for_its_own_host() {
    let sink = Sink::start().await;
    let target = format!("localhost:{}", sink.port);
    let nested = "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n".to_owned();
    let plain = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned();
    for first in
        [nested.into_bytes(), plain.into_bytes(), b"SSH-2.0-x\r\n".to_vec(), hello("evil.example")]
    {
        let proxy = TestProxy::start(&[&target], true).await;
        let (mut tunnel, answer) = proxy.tunnel(&target).await;
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");

        tunnel.write_all(&first).await.unwrap();

        let mut rest = vec![];
        let _ = tunnel.read_to_end(&mut rest).await;
        assert!(rest.is_empty());
        let (sent, _, reason) = proxy.log.wait_closed().await;
        assert_eq!(sent, 0, "{reason:?}");
        assert!(reason.is_some_and(|reason| reason.contains("TLS")));
    }
    assert!(sink.received.lock().unwrap().is_empty());

    let proxy = TestProxy::start(&[&target], true).await;
    let (mut tunnel, _) = proxy.tunnel(&target).await;
    let first = hello("localhost");
    tunnel.write_all(&first).await.unwrap();
    while sink.received.lock().unwrap().len() < first.len() {
        tokio::task::yield_now().await;
    }
    assert_eq!(*sink.received.lock().unwrap(), first);
}

fn hello(name: &str) -> Vec<u8> {
    let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let name = rustls::pki_types::ServerName::try_from(name.to_owned()).unwrap();
    let mut client = rustls::ClientConnection::new(std::sync::Arc::new(config), name).unwrap();
    let mut bytes = vec![];
    client.write_tls(&mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn headers_that_name_another_host_are_refused() {
    let sink = Sink::start().await;
    let port = sink.port;
    let proxy = TestProxy::start(&[&format!("localhost:{port}")], true).await;

    for request in [
        format!("CONNECT localhost:{port} HTTP/1.1\r\nHost: evil.example:{port}\r\n\r\n"),
        format!("GET http://localhost:{port}/ HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
        format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"),
        format!("GET https://localhost:{port}/ HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n"),
        format!("CONNECT user@localhost:{port} HTTP/1.1\r\n\r\n"),
    ] {
        let (_, answer) = proxy.send(&request).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{request}: {answer}");
    }
    assert_eq!(sink.connections.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn what_cannot_be_recorded_is_not_connected() {
    let sink = Sink::start().await;
    let target = format!("localhost:{}", sink.port);
    let proxy = TestProxy::start(&[&target], true).await;
    proxy.log.is_broken.store(true, Ordering::Relaxed);

    let (_, answer) = proxy.tunnel(&target).await;

    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert_eq!(sink.connections.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn connections_end_with_the_sandbox() {
    let sink = Sink::start().await;
    let target = format!("localhost:{}", sink.port);
    let proxy = TestProxy::start(&[&target], true).await;
    let (mut tunnel, _) = proxy.tunnel(&target).await;
    tunnel.write_all(&hello("localhost")).await.unwrap();
    while sink.received.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }

    proxy.closed.cancel();

    let mut rest = vec![];
    let _ = tunnel.read_to_end(&mut rest).await;
    let (_, _, reason) = proxy.log.wait_closed().await;
    assert_eq!(reason.as_deref(), Some("the sandbox ended"));
    assert!(tokio::net::TcpStream::connect(proxy.address).await.is_err());
}
