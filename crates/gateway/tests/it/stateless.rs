//! The revision without sessions.

use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::harness::{EventReader, Harness};

#[tokio::test]
async fn discovery_names_versions_capabilities_and_how_long_they_hold() {
    let harness = Harness::new().await;

    let response = harness.modern("/mcp", "pm", "server/discover", json!({})).send().await.unwrap();

    assert!(!response.headers().contains_key("mcp-session-id"));
    let answer: Value = response.json().await.unwrap();
    let result = &answer["result"];
    assert_eq!(result["supportedVersions"][0], "2026-07-28");
    assert_eq!(result["capabilities"]["tools"]["listChanged"], true);
    assert_eq!(
        (&result["resultType"], &result["cacheScope"]),
        (&json!("complete"), &json!("private"))
    );
    assert!(result["ttlMs"].is_u64());
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "cynode");
}

#[tokio::test]
async fn lists_say_how_long_they_may_be_kept() {
    let harness = Harness::new().await;

    let response = harness.modern("/mcp", "pm", "tools/list", json!({})).send().await.unwrap();

    let list: Value = response.json().await.unwrap();
    assert_eq!(
        (&list["result"]["resultType"], &list["result"]["cacheScope"]),
        (&json!("complete"), &json!("private"))
    );
    let tool = &list["result"]["tools"][0];
    assert!(tool["inputSchema"].is_object() && tool["outputSchema"].is_object(), "{tool}");
}

#[tokio::test]
async fn removed_and_unknown_methods_are_not_found() {
    let harness = Harness::new().await;
    for method in ["ping", "logging/setLevel", "resources/subscribe", "nothing"] {
        let response = harness.modern("/mcp", "pm", method, json!({})).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::NOT_FOUND, "{method}");
        assert_eq!(response.json::<Value>().await.unwrap()["error"]["code"], -32601);
    }
}

#[tokio::test]
async fn headers_that_contradict_the_body_are_refused_and_nothing_is_called() {
    let harness = Harness::new().await;
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "files.echo", "_meta": meta } });
    let request = harness.post("/mcp", "pm").header("mcp-protocol-version", "2026-07-28");

    let response = request
        .header("mcp-method", "tools/call")
        .header("mcp-name", "help.get")
        .json(&body)
        .send()
        .await
        .unwrap();

    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert_eq!(response.json::<Value>().await.unwrap()["error"]["code"], -32020);
    assert!(harness.entries().is_empty());
}

#[tokio::test]
async fn a_request_without_its_metadata_or_with_an_unknown_version_is_malformed() {
    let harness = Harness::new().await;
    let send = async |version: &str, meta: Value| -> (StatusCode, Value) {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } });
        let request = harness.post("/mcp", "pm").header("mcp-protocol-version", version);
        let response = request.header("mcp-method", "tools/list").json(&body).send().await.unwrap();
        (response.status(), response.json().await.unwrap())
    };

    let (missing, fault) = send("2026-07-28", json!({})).await;
    assert_eq!((missing, &fault["error"]["code"]), (StatusCode::BAD_REQUEST, &json!(-32602)));
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2099-01-01" });
    let (unknown, fault) = send("2099-01-01", meta).await;
    assert_eq!((unknown, &fault["error"]["code"]), (StatusCode::BAD_REQUEST, &json!(-32022)));
    assert_eq!(fault["error"]["data"]["supported"][0], "2026-07-28");
}

#[tokio::test]
async fn a_subscription_is_acknowledged_first_and_then_hears_changes() {
    let harness = Harness::new().await;
    let filter =
        json!({ "notifications": { "toolsListChanged": true, "promptsListChanged": true } });
    let stream = harness.modern("/mcp", "pm", "subscriptions/listen", filter).send().await.unwrap();
    let mut events = EventReader::new(stream);
    let first = events.next().await.unwrap();
    assert_eq!(first["method"], "notifications/subscriptions/acknowledged");
    assert_eq!(first["params"]["notifications"], json!({ "toolsListChanged": true }));
    assert_eq!(first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);

    harness.change(|_| {}).await;

    let heard = events.next().await.unwrap();
    assert_eq!(heard["method"], "notifications/tools/list_changed");
    assert_eq!(heard["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 1);
}

#[tokio::test]
async fn the_stream_and_the_end_of_sessions_do_not_exist_here() {
    let harness = Harness::new().await;
    let url = format!("{}/mcp", harness.url);
    for request in [harness.http.get(&url), harness.http.delete(&url)] {
        let request = request.bearer_auth("pm").header("mcp-protocol-version", "2026-07-28");
        assert_eq!(request.send().await.unwrap().status(), StatusCode::METHOD_NOT_ALLOWED);
    }
}

#[tokio::test]
async fn headers_must_repeat_the_arguments_that_a_tool_names() {
    let harness = Harness::new().await;
    harness
        .change(|world| {
            let echo = world.tools.iter_mut().find(|tool| tool.name == "files.echo").unwrap();
            echo.definition["inputSchema"]["properties"]["text"]["x-mcp-header"] = "Text".into();
        })
        .await;
    let call = async |path: &str, name: &str, arguments: Value, header: Option<&str>| {
        let params = json!({ "name": name, "arguments": arguments });
        let mut request = harness.modern(path, "pm", "tools/call", params);
        if let Some(header) = header {
            request = request.header("mcp-param-text", header);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json::<Value>().await.unwrap()["error"]["code"].clone())
    };
    let text = json!({ "text": "a" });

    for (path, name) in [("/mcp", "files.echo"), ("/mcp/files", "echo")] {
        assert_eq!(call(path, name, text.clone(), Some("a")).await, (200, Value::Null));
        assert_eq!(call(path, name, json!({}), None).await, (200, Value::Null));
        for (arguments, header) in [(&text, Some("b")), (&text, None), (&json!({}), Some("a"))] {
            let refused = call(path, name, arguments.clone(), header).await;
            assert_eq!(refused, (400, json!(-32020)), "{arguments} {header:?}");
        }
    }
    assert_eq!(
        call("/mcp", "files.fail", text, Some("b")).await.1,
        json!(-32050),
        "not its header"
    );
    assert_eq!(harness.script.seen.lock().unwrap().len(), 5);
}
