//! Well-behaved servers over HTTP.

use cynode_runtime::telemetry::tracing_capture::TracingCapture;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::fake::{Fake, Reply, event, events, stream};
use super::world::{RecordingClient, UpstreamFixture, call, send_request};
use crate::interface::UpstreamError;
use crate::interface::Upstreams as _;
use crate::rpc;

#[tokio::test]
async fn a_session_is_opened_for_the_client_and_used_for_its_requests() {
    let fake = Fake::with_sessions(|seen| seen.result(json!({"content": []}))).await;
    let client = RecordingClient::answering(json!({}));
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;

    let answer = send_request(&upstream, &client, call("mine", "echo")).await.unwrap();

    assert_eq!(answer, json!({"jsonrpc": "2.0", "id": "mine", "result": {"content": []}}));
    assert_eq!(upstream.about().instructions.as_deref(), Some("Be kind."));
    let greeting = &fake.received_with_method("initialize")[0];
    assert_eq!(greeting.body["params"]["capabilities"]["sampling"], json!({}));
    assert_eq!(greeting.header("mcp-protocol-version"), None);
    assert_eq!(fake.received_with_method("notifications/initialized").len(), 1);
    let seen = &fake.received_with_method("tools/call")[0];
    assert_eq!(seen.header("mcp-session-id"), Some("session-1"));
    assert_eq!(seen.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(seen.header("mcp-method"), None);
    assert!(seen.body["id"].is_u64());
}

#[tokio::test]
async fn a_connection_to_a_server_is_logged_under_its_stable_name_and_a_failed_one_is_not() {
    let (capture, _guard) = TracingCapture::start();
    let fake = Fake::with_sessions(|seen| seen.result(json!({}))).await;
    let client = RecordingClient::plain();
    let (world, _upstream) = UpstreamFixture::opened(&fake.url, &client).await;
    let away = world.install_http("http://127.0.0.1:1/mcp");
    world.try_open(away, &client).await.err().unwrap();

    let [line] = &capture.events("backend connected")[..] else { panic!("not one line") };
    assert_eq!(
        (&*line["trace.kind"], &*line["trace.actor"]),
        ("backend_connected", "orchestrator")
    );
    assert_eq!(line["trace.fields"], r#"{"backend":"mcp","backend_purpose":"tools"}"#);
}

#[tokio::test]
async fn configured_headers_go_with_every_request_to_the_server() {
    let fake = Fake::with_sessions(|seen| seen.result(json!({}))).await;
    let world = UpstreamFixture::new(super::world::quick());
    let headers = [("X-Api-Key".to_owned(), "secret".to_owned())].into();
    let transport = cynode_wire::servers::Transport::Http { url: fake.url.clone(), headers };
    let server = world.install("keyed", transport);
    let client = RecordingClient::plain();

    let upstream = world.open(server, &client).await;
    send_request(&upstream, &client, call("1", "echo")).await.unwrap();

    let posts = fake.seen().into_iter().filter(|seen| seen.verb == http::Method::POST);
    assert!(posts.clone().count() >= 3);
    assert!(posts.into_iter().all(|seen| seen.header("x-api-key") == Some("secret")));
}

#[tokio::test]
async fn two_sessions_never_share_a_conversation_over_http() {
    let fake = Fake::with_sessions(|seen| seen.result(json!({}))).await;
    let (one, other) = (RecordingClient::plain(), RecordingClient::plain());
    let (world, upstream) = UpstreamFixture::opened(&fake.url, &one).await;
    let server = world.register.servers.lock().unwrap()[0].id;
    let another = world.open(server, &other).await;

    send_request(&upstream, &one, call("1", "echo")).await.unwrap();
    send_request(&another, &other, call("1", "echo")).await.unwrap();
    send_request(&world.open(server, &one).await, &one, call("2", "echo")).await.unwrap();

    let sessions: Vec<_> = fake
        .received_with_method("tools/call")
        .iter()
        .map(|seen| seen.header("mcp-session-id").unwrap().to_owned())
        .collect();
    assert_eq!(sessions, ["session-1", "session-2", "session-1"]);
    let ids: std::collections::HashSet<_> = fake
        .received_with_method("tools/call")
        .iter()
        .map(|seen| seen.body["id"].to_string())
        .collect();
    assert_eq!(ids.len(), 3);
}

#[tokio::test]
async fn what_is_said_on_the_stream_of_a_request_reaches_its_client_before_the_answer() {
    let fake = Fake::with_sessions(|seen| match seen.method() {
        "tools/call" => {
            let token = &seen.body["params"]["_meta"]["progressToken"];
            events(&[
                json!({"jsonrpc": "2.0", "method": "notifications/progress",
                    "params": {"progressToken": token, "progress": 1, "total": 2}}),
                json!({"jsonrpc": "2.0", "method": "notifications/message",
                    "params": {"level": "info", "data": "half"}}),
                json!({"jsonrpc": "2.0", "id": seen.body["id"], "result": {"content": ["done"]}}),
            ])
        }
        _ => Reply::Bytes(405, "text/plain", vec![]),
    })
    .await;
    let client = RecordingClient::plain();
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;
    let mut request = call("1", "slow");
    request["params"]["_meta"] = json!({"progressToken": "tok"});

    let answer = send_request(&upstream, &client, request).await.unwrap();

    assert_eq!(answer["result"]["content"], json!(["done"]));
    let reported = client.notifications();
    assert_eq!(reported[0]["params"], json!({"progressToken": "tok", "progress": 1, "total": 2}));
    assert_eq!(reported[1]["params"]["data"], "half");
    assert_ne!(
        fake.received_with_method("tools/call")[0].body["params"]["_meta"]["progressToken"],
        "tok"
    );
}

#[tokio::test]
async fn a_server_asks_its_client_in_the_middle_of_a_call_and_gets_the_answer() {
    let (sender, receiver) = tokio::sync::mpsc::channel(8);
    let (sender, receiver) = (sender, std::sync::Mutex::new(Some(receiver)));
    let call_id = std::sync::Mutex::new(json!(null));
    let fake = Fake::with_sessions(move |seen| match seen.method() {
        "tools/call" => {
            *call_id.lock().unwrap() = seen.body["id"].clone();
            let question = json!({"jsonrpc": "2.0", "id": "q-1", "method": "elicitation/create",
                "params": {"message": "Who?"}});
            sender.try_send(event(&question)).unwrap();
            Reply::Stream(receiver.lock().unwrap().take().unwrap())
        }
        // The response to the server's request: the call can end.
        "" if seen.body["id"] == "q-1" => {
            let content = json!([seen.body["result"]["content"]["name"]]);
            let answer = json!({"jsonrpc": "2.0", "id": *call_id.lock().unwrap(), "result": {"content": content}});
            sender.try_send(event(&answer)).unwrap();
            super::fake::accepted()
        }
        _ => Reply::Bytes(405, "text/plain", vec![]),
    })
    .await;
    let client =
        RecordingClient::answering(json!({"action": "accept", "content": {"name": "Ada"}}));
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;

    let answer = send_request(&upstream, &client, call("1", "greet")).await.unwrap();

    assert_eq!(answer["result"]["content"], json!(["Ada"]));
    assert_eq!(client.received_requests()[0]["method"], "elicitation/create");
    let posted = fake.wait_for(|seen| seen.body["id"] == "q-1").await;
    assert_eq!(posted.header("mcp-session-id"), Some("session-1"));
}

#[tokio::test]
async fn a_server_that_pings_is_answered_without_the_client() {
    let (sender, reply) = stream();
    let reply = std::sync::Mutex::new(Some(reply));
    let fake = Fake::with_sessions(move |seen| match (&seen.verb, seen.method()) {
        (&http::Method::GET, _) => reply.lock().unwrap().take().unwrap(),
        _ => super::fake::accepted(),
    })
    .await;
    let client = RecordingClient::plain();
    let (_world, _upstream) = UpstreamFixture::opened(&fake.url, &client).await;

    sender.send(event(&json!({"jsonrpc": "2.0", "id": 5, "method": "ping"}))).await.unwrap();

    let pong = fake.wait_for(|seen| seen.body["id"] == 5).await;
    assert_eq!(pong.body["result"], json!({}));
    assert_eq!(client.received_requests(), Vec::<serde_json::Value>::new());
}

#[tokio::test]
async fn what_belongs_to_no_request_comes_over_the_standing_stream() {
    let (sender, reply) = stream();
    let reply = std::sync::Mutex::new(Some(reply));
    let fake = Fake::with_sessions(move |seen| match seen.verb {
        http::Method::GET => reply.lock().unwrap().take().unwrap(),
        _ => seen.result(json!({})),
    })
    .await;
    let client = RecordingClient::plain();
    let (_world, _upstream) = UpstreamFixture::opened(&fake.url, &client).await;

    let updated = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": "a:b"}});
    sender.send(event(&updated)).await.unwrap();

    assert_eq!(client.wait_for_notification("notifications/resources/updated").await, updated);
    let standing = fake.wait_for(|seen| seen.verb == http::Method::GET).await;
    assert_eq!(standing.header("mcp-session-id"), Some("session-1"));
    assert_eq!(standing.header("accept"), Some("text/event-stream"));
}

#[tokio::test]
async fn a_forgotten_session_is_opened_again_once_and_the_request_repeated() {
    let fake = Fake::with_sessions(|seen| match seen.header("mcp-session-id") {
        Some("session-2") => seen.result(json!({"content": ["again"]})),
        _ => Reply::Bytes(404, "text/plain", b"session not found".to_vec()),
    })
    .await;
    let client = RecordingClient::plain();
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;

    let many: Vec<_> =
        (0..8).map(|id| send_request(&upstream, &client, call(&id.to_string(), "echo"))).collect();
    let answers = futures_util::future::join_all(many).await;

    for answer in answers {
        assert_eq!(answer.unwrap()["result"]["content"], json!(["again"]));
    }
    assert_eq!(fake.received_with_method("initialize").len(), 2);
}

#[tokio::test]
async fn a_session_that_is_forgotten_again_is_an_error_and_no_endless_loop() {
    let fake = Fake::with_sessions(|seen| {
        let error = json!({"code": -32000, "message": "Bad Request: No valid session ID provided"});
        match seen.verb {
            http::Method::POST => {
                Reply::Json(400, json!({"jsonrpc": "2.0", "id": null, "error": error}))
            }
            _ => Reply::Bytes(405, "text/plain", vec![]),
        }
    })
    .await;
    let client = RecordingClient::plain();
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;

    let answer = send_request(&upstream, &client, call("1", "echo")).await;

    assert!(matches!(answer, Err(UpstreamError::Unavailable(_))), "{answer:?}");
    assert_eq!(
        (
            fake.received_with_method("initialize").len(),
            fake.received_with_method("tools/call").len()
        ),
        (3, 2)
    );
}

#[tokio::test]
async fn a_canceled_request_is_canceled_at_the_server_under_the_id_it_knows() {
    let fake = Fake::with_sessions(|seen| match seen.verb {
        http::Method::POST => Reply::Silence,
        _ => Reply::Bytes(405, "text/plain", vec![]),
    })
    .await;
    let client = RecordingClient::plain();
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;
    let cancel = CancellationToken::new();
    let message = rpc::raw(call("mine", "slow").to_string());
    let request = upstream.request(message, client.clone() as _, cancel.clone());

    let (answer, ()) = tokio::join!(request, async {
        fake.wait_for(|seen| seen.method() == "tools/call").await;
        cancel.cancel();
    });

    assert_eq!(answer.unwrap_err(), UpstreamError::Canceled);
    let reported = fake.wait_for(|seen| seen.method() == "notifications/cancelled").await;
    assert_eq!(
        reported.body["params"]["requestId"],
        fake.received_with_method("tools/call")[0].body["id"]
    );
}

#[tokio::test]
async fn a_request_whose_caller_is_gone_is_canceled_at_the_server() {
    let fake = Fake::with_sessions(|seen| match seen.verb {
        http::Method::POST => Reply::Silence,
        _ => Reply::Bytes(405, "text/plain", vec![]),
    })
    .await;
    let client = RecordingClient::plain();
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;

    tokio::select! {
        _ = send_request(&upstream, &client, call("1", "slow")) => panic!("unexpected response"),
        _ = fake.wait_for(|seen| seen.method() == "tools/call") => {}
    }

    fake.wait_for(|seen| seen.method() == "notifications/cancelled").await;
}

#[tokio::test]
async fn a_stream_that_breaks_is_taken_up_where_it_was() {
    let fake = Fake::with_sessions(|seen| match (&seen.verb, seen.method()) {
        (&http::Method::POST, "tools/call") => {
            let (sender, reply) = stream();
            let id = seen.body["id"].as_u64().unwrap();
            sender.try_send(format!("id: {id}\nretry: 1\ndata:\n\n")).unwrap();
            reply
        }
        (&http::Method::GET, _) => match seen.header("last-event-id") {
            Some(id) => events(&[
                json!({"jsonrpc": "2.0", "id": id.parse::<u64>().unwrap(), "result": {"ok": true}}),
            ]),
            None => Reply::Bytes(405, "text/plain", vec![]),
        },
        _ => super::fake::accepted(),
    })
    .await;
    let client = RecordingClient::plain();
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;

    let answer = send_request(&upstream, &client, call("1", "reconnect")).await.unwrap();

    assert_eq!(answer["result"], json!({"ok": true}));
}

#[tokio::test]
async fn the_end_of_a_session_ends_it_at_the_server() {
    let fake = Fake::with_sessions(|seen| seen.result(json!({}))).await;
    let client = RecordingClient::plain();
    let (world, _upstream) = UpstreamFixture::opened(&fake.url, &client).await;

    world.pool.close(&client.key()).await;

    let ended = fake.wait_for(|seen| seen.verb == http::Method::DELETE).await;
    assert_eq!(ended.header("mcp-session-id"), Some("session-1"));
}

#[tokio::test]
async fn a_forgotten_server_is_looked_up_again() {
    let fake = Fake::with_sessions(|seen| seen.result(json!({}))).await;
    let client = RecordingClient::plain();
    let (world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;
    let server = world.register.servers.lock().unwrap()[0].id;
    world.register.servers.lock().unwrap().clear();

    world.pool.drop_connections(server).await;

    assert_eq!(world.try_open(server, &client).await.err(), Some(UpstreamError::Unknown));
    while send_request(&upstream, &client, call("1", "echo")).await.is_ok() {
        tokio::task::yield_now().await;
    }
}
