//! Spans as a collector receives them.

use std::time::Duration;

use cynode_runtime::telemetry::{self, LogOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Accepts one request, responds 200 and returns the request.
async fn one_request(collector: TcpListener) -> String {
    let (mut stream, _) = collector.accept().await.unwrap();
    let mut request = Vec::new();
    while !is_complete(&request) {
        assert!(stream.read_buf(&mut request).await.unwrap() > 0, "the request was cut off");
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
    String::from_utf8_lossy(&request).into_owned()
}

fn is_complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_ascii_lowercase();
    let Some(head) = text.split("\r\n\r\n").next().filter(|head| head.len() < text.len()) else {
        return false;
    };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    let body = request.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
    request.len() - body >= length.unwrap().trim().parse::<usize>().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spans_reach_a_collector_without_their_secrets() {
    let collector = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let options = LogOptions {
        otlp_endpoint: Some(format!("http://{}", collector.local_addr().unwrap())),
        ..LogOptions::default()
    };
    let telemetry = telemetry::init("cynode-test", &options).unwrap();
    let secret = "Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";
    tracing::info_span!(target: "cynode_test", "sign in", password = secret, user = "ada")
        .in_scope(|| tracing::info!(target: "cynode_test", "got cyn_pm_{secret}"));

    let ended = tokio::task::spawn_blocking(move || drop(telemetry));
    let request = tokio::time::timeout(Duration::from_secs(10), one_request(collector));
    let request = request.await.unwrap();
    ended.await.unwrap();

    assert!(request.starts_with("POST /v1/traces "), "{request}");
    for kept in ["cynode-test", "sign in", "ada", "cyn_pm_[redacted]"] {
        assert!(request.contains(kept), "{kept} is missing in {request}");
    }
    assert!(!request.contains(secret), "{request}");
}
