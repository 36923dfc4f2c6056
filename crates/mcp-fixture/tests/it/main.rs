//! The fixture from a client's view: over HTTP and stdio, in both eras.
#![expect(clippy::unwrap_used, reason = "a client that cannot go on fails its test")]

use std::sync::Arc;

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use cynode_mcp_fixture::{McpFixture, router, serve_lines};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tower::ServiceExt as _;

/// A client of one fixture; `headers` go with every message.
struct FixtureClient {
    fixture: Arc<McpFixture>,
    headers: Vec<(&'static str, String)>,
}

impl FixtureClient {
    fn new() -> Self {
        Self { fixture: Arc::new(McpFixture::new().unwrap()), headers: Vec::new() }
    }

    /// A client that has opened a session.
    async fn in_session() -> Self {
        let mut client = Self::new();
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let (_, headers, answer) = client.send(&request("initialize", &params)).await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25");
        let id = headers["mcp-session-id"].to_str().unwrap().to_owned();
        client.headers.push(("mcp-session-id", id));
        client
    }

    /// A client that sends the headers of one stateless call of `tool`.
    fn stateless(tool: &str) -> Self {
        let mut client = Self::new();
        client.headers = vec![
            ("mcp-protocol-version", "2026-07-28".to_owned()),
            ("mcp-method", "tools/call".to_owned()),
            ("mcp-name", tool.to_owned()),
        ];
        client
    }

    async fn send(&self, message: &Value) -> (StatusCode, http::HeaderMap, Value) {
        let mut request = Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream");
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let request = request.body(Body::from(message.to_string())).unwrap();
        let response = router(Arc::clone(&self.fixture)).oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let body = to_bytes(body, usize::MAX).await.unwrap();
        (parts.status, parts.headers, last_message(&String::from_utf8(body.into()).unwrap()))
    }
}

/// The last message of a body: an event of a stream, or the body itself.
fn last_message(body: &str) -> Value {
    let last = body.lines().rev().find(|line| line.contains('{')).unwrap_or("null");
    serde_json::from_str(last.trim_start_matches("data: ")).unwrap()
}

fn request(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

fn call(tool: &str, arguments: &Value) -> Value {
    request("tools/call", &json!({ "name": tool, "arguments": arguments }))
}

fn stateless_call(tool: &str, arguments: &Value) -> Value {
    let mut message = call(tool, arguments);
    message["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    message
}

#[tokio::test]
async fn the_fixture_echoes_in_a_session_and_counts_it() {
    let client = FixtureClient::in_session().await;

    let (status, _, answer) = client.send(&call("echo", &json!({ "text": "hi" }))).await;

    assert_eq!(status, StatusCode::OK);
    assert_eq!(answer["result"], json!({ "content": [{ "type": "text", "text": "hi" }] }));
    assert_eq!(client.fixture.calls(), 1);
}

#[tokio::test]
async fn the_fixture_echoes_without_a_session_and_counts_it() {
    let client = FixtureClient::stateless("echo");

    let (_, _, answer) = client.send(&stateless_call("echo", &json!({ "text": "hi" }))).await;

    assert_eq!(answer["result"]["resultType"], "complete");
    assert_eq!(answer["result"]["content"][0]["text"], "hi");
    assert_eq!(client.fixture.calls(), 1);
}

#[tokio::test]
async fn the_fixture_refuses_a_name_header_that_the_body_contradicts() {
    let client = FixtureClient::stateless("test_simple_text");

    let (status, _, answer) = client.send(&stateless_call("echo", &json!({ "text": "hi" }))).await;

    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(answer["error"]["code"], -32020);
    assert_eq!(client.fixture.calls(), 0);
}

#[tokio::test]
async fn the_fixture_refuses_a_call_without_the_header_that_repeats_its_argument() {
    let call = stateless_call("test_custom_header", &json!({ "region": "north" }));
    let mut client = FixtureClient::stateless("test_custom_header");

    let (without, _, answer) = client.send(&call).await;
    client.headers.push(("mcp-param-region", "north".to_owned()));
    let (with, ..) = client.send(&call).await;

    assert_eq!((without, with), (StatusCode::BAD_REQUEST, StatusCode::OK));
    assert_eq!(answer["error"]["code"], -32020);
}

#[tokio::test]
async fn the_fixture_refuses_an_echo_for_a_page_of_another_origin() {
    let mut client = FixtureClient::in_session().await;
    client.headers.push(("origin", "http://localhost.example.com".to_owned()));

    let (status, ..) = client.send(&call("echo", &json!({ "text": "hi" }))).await;

    assert_eq!(status, StatusCode::FORBIDDEN);
    assert_eq!(client.fixture.calls(), 0);
}

#[tokio::test]
async fn the_fixture_knows_no_session_that_it_did_not_open() {
    let mut client = FixtureClient::in_session().await;
    client.headers[0].1 = "0".repeat(32);

    let (status, ..) = client.send(&call("echo", &json!({ "text": "hi" }))).await;

    assert_eq!(status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_fixture_streams_progress_before_the_answer() {
    let client = FixtureClient::in_session().await;
    let mut message = call("test_tool_with_progress", &json!({}));
    message["params"]["_meta"] = json!({ "progressToken": "p" });

    let (_, headers, answer) = client.send(&message).await;

    assert_eq!(headers["content-type"], "text/event-stream");
    assert_eq!(answer["result"]["content"][0]["text"], "Done.");
}

#[tokio::test]
async fn a_canceled_call_of_a_session_is_counted() {
    let client = FixtureClient::in_session().await;
    let wait = call("wait", &json!({ "ms": 3_600_000 }));
    let cancellation = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 },
    });
    let cancel = async {
        while client.fixture.cancelled() == 0 {
            client.send(&cancellation).await;
        }
    };

    tokio::join!(client.send(&wait), cancel);

    assert_eq!(client.fixture.cancelled(), 1);
}

#[tokio::test]
async fn a_session_that_cannot_sample_is_told_so() {
    let client = FixtureClient::in_session().await;

    let (_, _, answer) = client.send(&call("test_sampling", &json!({ "prompt": "hi" }))).await;

    assert_eq!(answer["result"]["isError"], true);
}

#[tokio::test]
async fn the_fixture_asks_a_client_of_lines_and_waits_for_its_answer() {
    let (ours, theirs) = tokio::io::duplex(4096);
    let (input, output) = tokio::io::split(theirs);
    let server = serve_lines(Arc::new(McpFixture::new().unwrap()), input, output);
    let client = async move {
        let (input, mut output) = tokio::io::split(ours);
        let mut lines = BufReader::new(input).lines();
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "sampling": {} },
            "clientInfo": { "name": "test", "version": "1" },
        });
        let mut exchange = async |message: &Value| {
            output.write_all(format!("{message}\n").as_bytes()).await.unwrap();
            let line = lines.next_line().await.unwrap().unwrap();
            serde_json::from_str::<Value>(&line).unwrap()
        };
        let opened = exchange(&request("initialize", &params)).await;
        let request = exchange(&call("test_sampling", &json!({ "prompt": "hi" }))).await;
        let sampled = json!({
            "role": "assistant",
            "content": { "type": "text", "text": "hello" },
            "model": "test",
        });
        let answer = json!({ "jsonrpc": "2.0", "id": request["id"], "result": sampled });
        [opened, request, exchange(&answer).await]
    };

    let (_, heard) = tokio::join!(server, client);

    assert_eq!(heard[0]["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(heard[1]["method"], "sampling/createMessage");
    assert_eq!(heard[2]["result"]["content"][0]["text"], "LLM response: hello");
}

#[tokio::test]
async fn lines_piped_in_by_a_stateless_client_are_answered_after_its_input_ended() {
    let input = format!("{}\n", stateless_call("echo", &json!({ "text": "hi" })));
    let (mut ours, theirs) = tokio::io::duplex(4096);

    let fixture = Arc::new(McpFixture::new().unwrap());
    serve_lines(fixture, std::io::Cursor::new(input), theirs).await.unwrap();

    let mut output = Vec::new();
    ours.read_to_end(&mut output).await.unwrap();
    let answer: Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "hi");
}
