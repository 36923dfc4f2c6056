//! Faulty servers over HTTP.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::fake::{Fake, ReceivedRequest, Reply, events, stream};
use super::world::{RecordingClient, UpstreamFixture, call, quick, send_request};
use crate::UpstreamOptions;
use crate::interface::UpstreamError;
use crate::interface::Upstreams as _;
use crate::rpc;

async fn call_error(
    reply: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
) -> UpstreamError {
    call_error_within(quick().quiet_timeout, reply).await
}

/// The error of a call with this silence limit.
async fn call_error_within(
    quiet_timeout: Duration,
    reply: impl Fn(&ReceivedRequest) -> Reply + Send + Sync + 'static,
) -> UpstreamError {
    let fake = Fake::with_sessions(move |seen| match seen.verb {
        http::Method::POST => reply(seen),
        _ => Reply::Bytes(405, "text/plain", vec![]),
    })
    .await;
    let client = RecordingClient::plain();
    let world = UpstreamFixture::new(UpstreamOptions { quiet_timeout, ..quick() });
    let server = world.install_http(&fake.url);
    let upstream = world.open(server, &client).await;
    send_request(&upstream, &client, call("1", "x")).await.unwrap_err()
}

#[tokio::test]
async fn a_server_that_says_nothing_is_not_waited_for_without_end() {
    // The same limit applies to the handshake.
    let soon = Duration::from_secs(5);
    let (_sender, reply) = stream();
    let reply = std::sync::Mutex::new(Some(reply));

    let (silent, begun) = tokio::join!(
        call_error_within(soon, |_| Reply::Silence),
        call_error_within(soon, move |_| reply.lock().unwrap().take().unwrap()),
    );

    assert_eq!((silent, begun), (UpstreamError::Timeout, UpstreamError::Timeout));
}

#[tokio::test]
async fn an_answer_larger_than_allowed_is_not_read() {
    let big = |seen: &ReceivedRequest| seen.result(json!({"content": "x".repeat(100_000)}));
    let streamed = |seen: &ReceivedRequest| {
        let result = json!({"content": "x".repeat(100_000)});
        events(&[json!({"jsonrpc": "2.0", "id": seen.body["id"], "result": result})])
    };

    let (plain, streamed) = (call_error(big).await, call_error(streamed).await);

    let expected = UpstreamError::Protocol("its response is larger than 65536 bytes".to_owned());
    assert_eq!((plain, streamed), (expected.clone(), expected));
}

#[tokio::test]
async fn an_answer_that_is_no_message_is_an_error_that_says_so() {
    let broken =
        |_: &ReceivedRequest| Reply::Bytes(200, "application/json", b"{\"jsonrpc\":".to_vec());
    let foreign = |_: &ReceivedRequest| {
        Reply::Json(200, json!({"jsonrpc": "2.0", "id": 99_999_999, "result": {}}))
    };
    let page = |_: &ReceivedRequest| Reply::Bytes(200, "text/html", b"<html>".to_vec());
    let garbled =
        |_: &ReceivedRequest| Reply::Bytes(200, "text/event-stream", b"data: {nope\n\n".to_vec());

    for fault in [
        call_error(broken).await,
        call_error(foreign).await,
        call_error(page).await,
        call_error(garbled).await,
    ] {
        assert!(matches!(fault, UpstreamError::Protocol(_)), "{fault:?}");
    }
}

#[tokio::test]
async fn a_stream_that_ends_before_the_answer_is_an_error() {
    let half = |_: &ReceivedRequest| {
        Reply::Bytes(200, "text/event-stream", b"data: {\"jsonrpc\":\"2.0\"".to_vec())
    };

    let fault = call_error(half).await;

    assert_eq!(
        fault,
        UpstreamError::Unavailable("it closed the stream before the response".to_owned())
    );
}

#[tokio::test]
async fn refusals_of_the_server_are_told_apart() {
    let status =
        async |status: u16| call_error(move |_| Reply::Bytes(status, "text/plain", vec![])).await;

    assert_eq!(status(429).await, UpstreamError::Busy);
    assert!(status(401).await.to_string().contains("credentials"));
    assert!(status(502).await.to_string().contains("HTTP 502"));
}

#[tokio::test]
async fn an_error_in_the_words_of_the_protocol_is_an_answer() {
    let fake = Fake::with_sessions(|seen| seen.error(400, -32602)).await;
    let client = RecordingClient::plain();
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;

    let answer = send_request(&upstream, &client, call("1", "x")).await.unwrap();

    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("1"), &json!(-32602)));
}

#[tokio::test]
async fn a_server_that_fails_all_the_time_is_left_alone() {
    let fake = Fake::with_sessions(|seen| match seen.verb {
        http::Method::POST => Reply::Bytes(503, "text/plain", vec![]),
        _ => Reply::Bytes(405, "text/plain", vec![]),
    })
    .await;
    let client = RecordingClient::plain();
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;

    for _ in 0..8 {
        send_request(&upstream, &client, call("1", "x")).await.unwrap_err();
    }

    assert_eq!(fake.received_with_method("tools/call").len(), 5);
}

#[tokio::test]
async fn a_server_whose_answers_nobody_could_wait_for_is_left_alone_and_one_canceled_is_not() {
    let fake = Fake::with_sessions(|seen| match seen.verb {
        http::Method::POST => Reply::Silence,
        _ => Reply::Bytes(405, "text/plain", vec![]),
    })
    .await;
    let client = RecordingClient::plain();
    let world = UpstreamFixture::new(quick());
    let server = world.install_http(&fake.url);
    let upstream = world.open(server, &client).await;
    let leave = async |cancel: CancellationToken| {
        let message = rpc::raw(call("1", "x").to_string());
        let request = upstream.request(message, Arc::clone(&client) as _, cancel.clone());
        let patience = Duration::from_millis(30);
        assert!(tokio::time::timeout(patience, request).await.is_err());
    };

    for _ in 0..6 {
        let cancel = CancellationToken::new();
        let withdrawn = cancel.clone();
        cynode_runtime::tasks::BackgroundTasks::new()
            .spawn("client", async move { withdrawn.cancel() });
        let message = rpc::raw(call("1", "x").to_string());
        let request = upstream.request(message, Arc::clone(&client) as _, cancel);
        assert_eq!(request.await.err(), Some(UpstreamError::Canceled));
    }
    assert_eq!(world.pool.circuit_error(server), None);
    for _ in 0..5 {
        leave(CancellationToken::new()).await;
    }

    assert!(matches!(world.pool.circuit_error(server), Some(UpstreamError::Unavailable(_))));
}

#[tokio::test]
async fn more_requests_than_allowed_at_once_are_told_that_the_server_is_busy() {
    let fake = Fake::with_sessions(|seen| match seen.verb {
        http::Method::POST => Reply::Silence,
        _ => Reply::Bytes(405, "text/plain", vec![]),
    })
    .await;
    let client = RecordingClient::plain();
    let world = UpstreamFixture::new(UpstreamOptions { calls_per_server: 1, ..quick() });
    let server = world.install_http(&fake.url);
    let upstream = world.open(server, &client).await;

    let first = send_request(&upstream, &client, call("1", "x"));
    let second = async {
        fake.wait_for(|seen| seen.method() == "tools/call").await;
        send_request(&upstream, &client, call("2", "x")).await
    };
    let second = tokio::select! {
        _ = first => panic!("unexpected response"),
        second = second => second,
    };

    assert_eq!(second.unwrap_err(), UpstreamError::Busy);
    assert_eq!(fake.received_with_method("tools/call").len(), 1);
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_does_not_disturb_another() {
    let fake = Fake::with_sessions(|seen| seen.result(json!({}))).await;
    let client = RecordingClient::plain();
    let world = UpstreamFixture::new(quick());
    let dead = world.install_http("http://127.0.0.1:1/mcp");
    let alive = world.install_http(&fake.url);

    let refused = world.try_open(dead, &client).await.err();
    let upstream = world.open(alive, &client).await;

    assert_eq!(refused, Some(UpstreamError::Unavailable("it cannot be reached".to_owned())));
    assert!(send_request(&upstream, &client, call("1", "x")).await.is_ok());
}
