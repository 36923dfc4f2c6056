//! The revisions with sessions.

use std::sync::atomic::Ordering;
use std::time::Duration;

use cynode_gateway::GatewayOptions;
use cynode_resources::request_limits::RequestLimitOptions;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::harness::{EventReader, Harness};

#[tokio::test]
async fn every_revision_with_sessions_is_negotiated_and_unknown_ones_get_the_newest() {
    let harness = Harness::new().await;
    for (requested, given) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ] {
        let (_, answer) = harness.open("/mcp", "pm", requested).await;
        assert_eq!(answer["result"]["protocolVersion"], given);
        assert_eq!(answer["result"]["capabilities"]["tools"]["listChanged"], true);
    }
}

#[tokio::test]
async fn a_session_is_needed_is_its_owners_and_ends_when_deleted() {
    let harness = Harness::new().await;
    let (session, _) = harness.open("/mcp", "pm", "2025-11-25").await;
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let status = async |token: &str, session: Option<&str>| {
        let mut request = harness.post("/mcp", token).json(&ping);
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        request.send().await.unwrap().status()
    };

    assert_eq!(status("pm", Some(&session)).await, StatusCode::OK);
    assert_eq!(status("pm", None).await, StatusCode::BAD_REQUEST);
    assert_eq!(status("user", Some(&session)).await, StatusCode::NOT_FOUND);
    assert_eq!(status("pm", Some("made-up")).await, StatusCode::NOT_FOUND);
    let delete = harness.http.delete(format!("{}/mcp", harness.url)).bearer_auth("pm");
    let deleted = delete.header("mcp-session-id", &session).send().await.unwrap();
    assert_eq!(deleted.status(), StatusCode::NO_CONTENT);
    assert_eq!(status("pm", Some(&session)).await, StatusCode::NOT_FOUND);
    assert_eq!(harness.script.closed.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_unknown_version_header_or_method_is_refused_in_a_session() {
    let harness = Harness::new().await;
    let (session, _) = harness.open("/mcp", "pm", "2025-11-25").await;

    let unknown = harness.ask(&session, "nothing/here", json!({})).await;
    let request = harness.post("/mcp", "pm").header("mcp-session-id", &session);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let version =
        request.header("mcp-protocol-version", "1999-01-01").json(&body).send().await.unwrap();

    assert_eq!(unknown["error"]["code"], -32601);
    assert_eq!(version.status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn progress_turns_an_answer_into_a_stream_that_ends_with_the_result() {
    let harness = Harness::new().await;
    let (session, _) = harness.open("/mcp", "pm", "2025-11-25").await;
    let params = json!({ "name": "files.progress", "_meta": { "progressToken": "t" } });
    let body = json!({ "jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": params });

    let request = harness.post("/mcp", "pm").header("mcp-session-id", &session);
    let response = request.json(&body).send().await.unwrap();

    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut events = EventReader::new(response);
    let progress = events.next().await.unwrap();
    let result = events.next().await.unwrap();
    assert_eq!(progress["params"], json!({ "progressToken": "t", "progress": 1 }));
    assert_eq!(
        (&result["id"], &result["result"]["content"][0]["text"]),
        (&json!("c"), &json!("done"))
    );
    assert!(result["result"].get("resultType").is_none(), "older revisions know no result types");
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn a_server_asks_the_client_and_gets_its_answer() {
    let harness = Harness::new().await;
    let (session, _) = harness.open("/mcp", "pm", "2025-11-25").await;
    let body = json!({ "jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": { "name": "files.ask" } });
    let request = harness.post("/mcp", "pm").header("mcp-session-id", &session);
    let mut events = EventReader::new(request.json(&body).send().await.unwrap());
    let question = events.next().await.unwrap();
    assert_eq!(question["method"], "sampling/createMessage");

    let answer =
        json!({ "jsonrpc": "2.0", "id": question["id"], "result": { "role": "assistant" } });
    let request = harness.post("/mcp", "pm").header("mcp-session-id", &session);
    let accepted = request.json(&answer).send().await.unwrap();

    assert_eq!(accepted.status(), StatusCode::ACCEPTED);
    let result = events.next().await.unwrap();
    let text = result["result"]["content"][0]["text"].as_str().unwrap();
    let reported: Value = serde_json::from_str(text).unwrap();
    assert_eq!(reported, json!({ "jsonrpc": "2.0", "id": "q", "result": { "role": "assistant" } }));
}

#[tokio::test]
async fn a_canceled_request_is_withdrawn_from_its_server() {
    let harness = Harness::new().await;
    let (session, _) = harness.open("/mcp", "pm", "2025-11-25").await;
    let body = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "files.hang" } });
    let call = harness.post("/mcp", "pm").header("mcp-session-id", &session).json(&body).send();
    let cancel = async {
        while harness.script.seen.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        let body = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 3 } });
        let request = harness.post("/mcp", "pm").header("mcp-session-id", &session);
        request.json(&body).send().await.unwrap().status()
    };

    let (answer, accepted) = tokio::join!(call, cancel);

    assert_eq!(accepted, StatusCode::ACCEPTED);
    let answer: Value = answer.unwrap().json().await.unwrap();
    assert_eq!(answer["result"]["structuredContent"]["error"]["type"], "canceled");
}

#[tokio::test]
async fn a_call_counts_until_it_ends_although_its_client_has_disconnected() {
    let limits = RequestLimitOptions { requests_per_user: 1, ..RequestLimitOptions::default() };
    let harness = Harness::with_limits(GatewayOptions::default(), limits).await;
    let (session, _) = harness.open("/mcp", "pm", "2025-11-25").await;
    let post = |body: Value| {
        let request = harness.post("/mcp", "pm").header("mcp-session-id", &session);
        request.json(&body).send()
    };
    let ping = || post(json!({ "jsonrpc": "2.0", "id": 4, "method": "ping" }));
    let hang = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": { "name": "files.hang" } });
    let call = post(hang);
    let arrival = async {
        while harness.script.seen.lock().unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        answer = call => panic!("it hangs: {answer:?}"),
        () = arrival => {}
    }

    // The call of the client that disconnected is still under way.
    for _ in 0..20 {
        assert_eq!(ping().await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 3 } });
    assert_eq!(post(cancel).await.unwrap().status(), StatusCode::ACCEPTED);

    tokio::time::timeout(Duration::from_secs(30), async {
        while ping().await.unwrap().status() != StatusCode::OK {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("the place is returned");
}

#[tokio::test]
async fn a_listening_client_hears_that_the_list_of_tools_changed() {
    let harness = Harness::new().await;
    let (session, _) = harness.open("/mcp", "pm", "2025-11-25").await;
    let get = harness.http.get(format!("{}/mcp", harness.url)).bearer_auth("pm");
    let get = get.header("mcp-session-id", &session).header("accept", "text/event-stream");
    let stream = get.send().await.unwrap();
    assert_eq!(stream.status(), StatusCode::OK);

    harness.change(|world| world.tools.truncate(3)).await;

    let heard = EventReader::new(stream).next().await.unwrap();
    assert_eq!(heard["method"], "notifications/tools/list_changed");
}

#[tokio::test]
async fn the_address_of_one_server_has_its_own_names_and_features() {
    let harness = Harness::new().await;
    let (session, opened) = harness.open("/mcp/files", "pm", "2025-11-25").await;
    let ask = async |method: &str, params: Value| -> Value {
        let body = json!({ "jsonrpc": "2.0", "id": 5, "method": method, "params": params });
        let request = harness.post("/mcp/files", "pm").header("mcp-session-id", &session);
        request.json(&body).send().await.unwrap().json().await.unwrap()
    };

    let list = ask("tools/list", json!({})).await;
    let called = ask("tools/call", json!({ "name": "echo", "arguments": { "text": "a" } })).await;
    let read = ask("resources/read", json!({ "uri": "file:///a" })).await;
    let unknown = ask("secrets/read", json!({})).await;

    assert_eq!(opened["result"]["serverInfo"]["name"], "files");
    assert_eq!(opened["result"]["instructions"], "read the files");
    let names: Vec<_> = list["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].clone())
        .collect();
    assert!(
        names.contains(&json!("echo"))
            && names.iter().all(|name| !name.as_str().unwrap().contains('.'))
    );
    assert_eq!(called["result"]["content"][0]["text"], r#"{"text":"a"}"#);
    assert!(read.get("result").is_some(), "{read}");
    assert_eq!(unknown["error"]["code"], -32601);
    let recorded: Vec<_> = harness.entries().iter().map(|entry| format!("{entry:?}")).collect();
    assert!(recorded.iter().any(|entry| entry.contains("files.resources/read")), "{recorded:?}");
}

#[tokio::test]
async fn what_a_server_offers_beside_tools_is_under_the_same_rules() {
    let harness = Harness::new().await;
    let deny = crate::backend::rule(cynode_domain::policy::Effect::Deny, "files.resources/*");
    harness.change(|world| world.rules.push(deny)).await;
    let (session, _) = harness.open("/mcp/files", "pm", "2025-11-25").await;

    let body =
        json!({ "jsonrpc": "2.0", "id": 5, "method": "resources/read", "params": { "uri": "x" } });
    let request = harness.post("/mcp/files", "pm").header("mcp-session-id", &session);
    let refused: Value = request.json(&body).send().await.unwrap().json().await.unwrap();

    assert_eq!(refused["error"]["data"]["error"]["stage"], "rules");
    assert!(harness.script.seen.lock().unwrap().is_empty());
}
