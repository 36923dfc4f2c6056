//! Servers with arguments that are mirrored in headers.

use serde_json::{Value, json};

use super::fake::{Fake, ReceivedRequest};
use super::world::{RecordingClient, UpstreamFixture, quick, send_request};

fn tools() -> Value {
    let property = |kind: &str, header: &str| json!({"type": kind, "x-mcp-header": header});
    json!([
        {"name": "query", "inputSchema": {"type": "object", "properties": {
            "region": property("string", "Region"),
            "dry": property("boolean", "Dry-Run"),
            "sql": {"type": "string"},
            "page": {"type": "object", "properties": {"size": property("integer", "Page-Size")}},
        }}},
        {"name": "odd", "inputSchema": {"type": "object", "properties": {
            "rate": property("number", "Rate"),
        }}},
    ])
}

async fn server() -> Fake {
    Fake::stateless(|seen: &ReceivedRequest| match seen.method() {
        "tools/list" => seen.result(json!({"resultType": "complete", "tools": tools()})),
        _ => seen.result(json!({"resultType": "complete", "content": [], "resources": [],
            "resourceTemplates": [], "prompts": []})),
    })
    .await
}

fn query(arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "query", "arguments": arguments}})
}

#[tokio::test]
async fn arguments_are_repeated_in_the_headers_that_a_tool_names() {
    let fake = server().await;
    let client = RecordingClient::plain();
    let (_world, upstream) = UpstreamFixture::opened(&fake.url, &client).await;

    let arguments = json!({"region": "größer", "dry": true, "sql": "x", "page": {"size": 7}});
    send_request(&upstream, &client, query(&arguments)).await.unwrap();
    send_request(&upstream, &client, query(&json!({"region": "eu", "dry": null}))).await.unwrap();

    let calls = fake.received_with_method("tools/call");
    assert_eq!(calls[0].header("mcp-param-region"), Some("=?base64?Z3LDtsOfZXI=?="));
    assert_eq!(calls[0].header("mcp-param-dry-run"), Some("true"));
    assert_eq!(calls[0].header("mcp-param-page-size"), Some("7"));
    assert_eq!(calls[1].header("mcp-param-region"), Some("eu"));
    assert_eq!(calls[1].header("mcp-param-dry-run"), None);
    assert_eq!(fake.received_with_method("tools/list").len(), 1, "the tools are read once");
}

#[tokio::test]
async fn a_tool_whose_annotations_break_the_rules_is_left_out_and_the_others_are_not() {
    let fake = server().await;
    let world = UpstreamFixture::new(quick());
    world.install_http(&fake.url);
    let shutdown = cynode_runtime::shutdown::Shutdown::new();
    let running = std::sync::Arc::clone(&world.pool).run(shutdown);

    tokio::select! {
        () = running => panic!("discovery ended"),
        () = world.register.wait_until(|register| !register.tool_names("fake").is_empty()) => {}
    }

    assert_eq!(world.register.tool_names("fake"), ["query"]);
}
