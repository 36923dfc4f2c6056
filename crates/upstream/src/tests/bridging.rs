//! Clients and servers of different protocol revisions.

use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};

use super::fake::{Fake, Reply, event, stream};
use super::world::{RecordingClient, UpstreamFixture, call, quick, send_request};
use crate::UpstreamOptions;
use crate::interface::UpstreamError;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

#[tokio::test]
async fn a_stateless_client_speaks_its_own_revision_with_a_server_that_knows_it() {
    let fake =
        Fake::stateless(|seen| seen.result(json!({"resultType": "complete", "content": []}))).await;
    let client = RecordingClient::stateless();
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;
    let mut request = call("1", "größe");
    request["params"]["_meta"] = json!({VERSION: "2026-07-28", CAPABILITIES: {"sampling": {}}});

    send_request(&upstream, &client, request).await.unwrap();

    let seen = &fake.received_with_method("tools/call")[0];
    assert_eq!(seen.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(seen.header("mcp-method"), Some("tools/call"));
    assert_eq!(seen.header("mcp-name"), Some("=?base64?Z3LDtsOfZQ==?="));
    assert_eq!(seen.header("mcp-session-id"), None);
    assert_eq!(seen.body["params"]["_meta"][CAPABILITIES], json!({"sampling": {}}));
    assert_eq!(fake.received_with_method("initialize").len(), 0);
}

#[tokio::test]
async fn a_stateless_client_reaches_a_server_that_knows_only_sessions() {
    let fake = Fake::with_sessions(|seen| seen.result(json!({"content": []}))).await;
    let client = RecordingClient::stateless();
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;
    let mut request = call("1", "echo");
    request["params"]["_meta"] =
        json!({VERSION: "2026-07-28", CAPABILITIES: {}, "traceparent": "t"});

    send_request(&upstream, &client, request).await.unwrap();

    assert_eq!(fake.received_with_method("server/discover").len(), 1);
    assert_eq!(
        fake.received_with_method("initialize")[0].body["params"]["capabilities"],
        json!({})
    );
    let seen = &fake.received_with_method("tools/call")[0];
    assert_eq!(seen.body["params"]["_meta"], json!({"traceparent": "t"}));
    assert_eq!(seen.header("mcp-method"), None);
}

#[tokio::test]
async fn input_that_a_stateless_server_needs_is_asked_of_a_client_with_a_session() {
    let fake = Fake::stateless(|seen| {
        let params = &seen.body["params"];
        if params["inputResponses"].is_null() {
            return seen.result(json!({
                "resultType": "input_required", "requestState": "sealed",
                "inputRequests": {"who": {"method": "elicitation/create", "params": {"message": "Who?"}}},
            }));
        }
        assert_eq!(params["requestState"], "sealed");
        let name = params["inputResponses"]["who"]["content"]["name"].clone();
        seen.result(json!({"resultType": "complete", "content": [name]}))
    })
    .await;
    let client =
        RecordingClient::answering(json!({"action": "accept", "content": {"name": "Ada"}}));
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;

    let answer = send_request(&upstream, &client, call("1", "greet")).await.unwrap();

    assert_eq!((&answer["id"], &answer["result"]["content"]), (&json!("1"), &json!(["Ada"])));
    assert_eq!(client.received_requests()[0]["params"], json!({"message": "Who?"}));
    let reported = &fake.received_with_method("tools/call")[0].body["params"]["_meta"];
    assert_eq!(reported[VERSION], "2026-07-28");
    assert_eq!(reported[CAPABILITIES]["elicitation"], json!({}));
}

#[tokio::test]
async fn input_that_a_stateless_server_needs_is_left_to_a_client_of_its_revision() {
    let result = json!({"resultType": "input_required", "inputRequests": {}, "requestState": "s"});
    let reply = result.clone();
    let fake = Fake::stateless(move |seen| seen.result(reply.clone())).await;
    let client = RecordingClient::stateless();
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;

    let answer = send_request(&upstream, &client, call("1", "greet")).await.unwrap();

    assert_eq!(answer["result"], result);
    assert_eq!(fake.received_with_method("tools/call").len(), 1);
}

#[tokio::test]
async fn a_client_with_a_session_finds_what_a_stateless_server_no_longer_has() {
    let (sender, reply) = stream();
    let reply = Mutex::new(Some(reply));
    let fake = Fake::stateless(move |seen| match seen.method() {
        "subscriptions/listen"
            if seen.body["params"]["notifications"]["resourceSubscriptions"].is_array() =>
        {
            reply.lock().unwrap().take().unwrap()
        }
        "subscriptions/listen" => Reply::Silence,
        _ => seen.result(json!({"resultType": "complete"})),
    })
    .await;
    let client = RecordingClient::plain();
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;
    let request = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});

    for (method, params) in [
        ("ping", json!({})),
        ("logging/setLevel", json!({"level": "warning"})),
        ("resources/subscribe", json!({"uri": "a:b"})),
    ] {
        let answer = send_request(&upstream, &client, request(method, params)).await.unwrap();
        assert_eq!(answer["result"], json!({}), "{method}");
        assert_eq!(fake.received_with_method(method).len(), 0);
    }
    send_request(&upstream, &client, call("1", "echo")).await.unwrap();
    let listen = fake
        .wait_for(|seen| {
            seen.body["params"]["notifications"]["resourceSubscriptions"] == json!(["a:b"])
        })
        .await;
    let meta = json!({"io.modelcontextprotocol/subscriptionId": listen.body["id"]});
    let update = json!({"jsonrpc": "2.0", "method": "notifications/resources/updated",
        "params": {"uri": "a:b", "_meta": meta}});
    sender.send(event(&update)).await.unwrap();

    let reported = client.wait_for_notification("notifications/resources/updated").await;
    assert_eq!(reported["params"], json!({"uri": "a:b", "_meta": {}}));
    let meta = &fake.received_with_method("tools/call")[0].body["params"]["_meta"];
    assert_eq!(meta["io.modelcontextprotocol/logLevel"], "warning");
}

#[tokio::test]
async fn a_subscription_of_a_stateless_client_is_named_as_the_client_named_it() {
    let (sender, reply) = stream();
    let reply = Mutex::new(Some(reply));
    let fake = Fake::stateless(move |seen| match seen.method() {
        "subscriptions/listen" => reply.lock().unwrap().take().unwrap(),
        _ => seen.result(json!({"resultType": "complete", "tools": []})),
    })
    .await;
    let client = RecordingClient::stateless();
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;
    let request = json!({"jsonrpc": "2.0", "id": "sub", "method": "subscriptions/listen",
        "params": {"notifications": {"toolsListChanged": true}}});

    let listening = send_request(&upstream, &client, request);
    let speaking = async {
        let seen = fake.wait_for(|seen| seen.method() == "subscriptions/listen").await;
        let meta = json!({"io.modelcontextprotocol/subscriptionId": seen.body["id"]});
        let acknowledged = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
            "params": {"notifications": {"toolsListChanged": true}, "_meta": meta}});
        sender.send(event(&acknowledged)).await.unwrap();
        client.wait_for_notification("notifications/subscriptions/acknowledged").await
    };
    let reported = tokio::select! {
        _ = listening => panic!("it lasts"),
        reported = speaking => reported,
    };

    assert_eq!(reported["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "sub");
}

#[tokio::test]
async fn a_server_that_was_too_slow_to_be_discovered_is_not_said_to_speak_nothing_known() {
    let fake = Fake::start(|seen| match seen.method() {
        "server/discover" => Reply::Silence,
        _ => seen.error(404, -32601),
    })
    .await;
    let options = UpstreamOptions { probe_timeout: Duration::from_millis(50), ..quick() };
    let world = UpstreamFixture::new(options);
    let server = world.install_http(&fake.url);

    let opened = world.try_open(server, &RecordingClient::stateless()).await;

    assert_eq!(opened.err(), Some(UpstreamError::Timeout));
    assert_eq!(
        (
            fake.received_with_method("server/discover").len(),
            fake.received_with_method("initialize").len()
        ),
        (1, 1)
    );
}
