//! The standing stream of a session, which carries messages that belong to no request.

use std::sync::Mutex;

use http::Method;
use serde_json::json;

use super::fake::{Fake, ReceivedRequest, Reply, event, stream};
use super::world::{RecordingClient, UpstreamFixture, call, send_request};

/// The stream for the first caller, a rejection for every later one.
fn take_stream_once(stream: &Mutex<Option<Reply>>) -> Reply {
    let first = stream.lock().unwrap().take();
    first.unwrap_or_else(|| Reply::Bytes(405, "text/plain", vec![]))
}

#[tokio::test]
async fn a_session_listens_before_it_asks_for_anything() {
    let (_standing, reply) = stream();
    let reply = Mutex::new(Some(reply));
    let fake = Fake::with_sessions(move |seen| match seen.verb {
        Method::GET => take_stream_once(&reply),
        _ => seen.result(json!({"content": []})),
    })
    .await;
    let client = RecordingClient::plain();
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;

    send_request(&upstream, &client, call("1", "echo")).await.unwrap();

    let seen = fake.seen();
    let at = |predicate: fn(&ReceivedRequest) -> bool| seen.iter().position(predicate).unwrap();
    assert!(at(|seen| seen.verb == Method::GET) < at(|seen| seen.method() == "tools/call"));
}

#[tokio::test]
async fn an_answer_is_taken_from_the_standing_stream_too() {
    let (standing, reply) = stream();
    let (silent, never) = stream();
    let (reply, never) = (Mutex::new(Some(reply)), Mutex::new(Some(never)));
    let fake = Fake::with_sessions(move |seen| match seen.verb {
        Method::GET => take_stream_once(&reply),
        _ => take_stream_once(&never),
    })
    .await;
    let client = RecordingClient::plain();
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;

    let answering = async {
        let called = fake.wait_for(|seen| seen.method() == "tools/call").await;
        // The caller must read the beginning of this stream first, or it waits for no other one.
        silent.send(": nothing yet\n\n".to_owned()).await.unwrap();
        let answer = json!({"jsonrpc": "2.0", "id": called.body["id"], "result": {"content": []}});
        while standing.send(event(&answer)).await.is_ok() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    let answer = tokio::select! {
        answer = send_request(&upstream, &client, call("mine", "echo")) => answer.unwrap(),
        () = answering => panic!("the standing stream was closed"),
    };

    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": "mine", "result": {"content": []}}));
}
