//! The bridge between standard streams and a real MCP server.

use std::sync::Arc;

use cynode_acp_client::mcp_bridge::{BridgeError, run_bridge};
use cynode_mcp_fixture::{McpFixture, serve};
use cynode_runtime::tasks::BackgroundTasks;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// A bridge that runs, and the streams of its client.
struct BridgeClient {
    input: Option<DuplexStream>,
    output: Lines<BufReader<DuplexStream>>,
    ended: oneshot::Receiver<Result<(), BridgeError>>,
    next_id: u64,
    _tasks: BackgroundTasks,
}

impl BridgeClient {
    fn start(url: String) -> Self {
        let (input, bridge_input) = tokio::io::duplex(64 << 10);
        let (bridge_output, output) = tokio::io::duplex(64 << 10);
        let (sender, ended) = oneshot::channel();
        let tasks = BackgroundTasks::new();
        tasks.spawn_until_finish("bridge", async move {
            let _ = sender.send(run_bridge(&url, bridge_input, bridge_output).await);
        });
        let output = BufReader::new(output).lines();
        Self { input: Some(input), output, ended, next_id: 0, _tasks: tasks }
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.input.as_mut().unwrap().write_all(line.as_bytes()).await.unwrap();
    }

    async fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    /// Sends a request and returns its id.
    async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    async fn next(&mut self) -> Value {
        let line = self.output.next_line().await.unwrap().expect("the bridge closed its output");
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a request and returns the response; collects what comes before it.
    async fn call(&mut self, method: &str, params: Value) -> (Value, Vec<Value>) {
        let id = self.request(method, params).await;
        let mut others = vec![];
        loop {
            let message = self.next().await;
            if message["id"] == id && message.get("method").is_none() {
                return (message, others);
            }
            others.push(message);
        }
    }

    async fn initialize(&mut self) -> Value {
        let (answer, _) = self
            .call(
                "initialize",
                json!({ "protocolVersion": "2025-06-18", "capabilities": { "elicitation": {} },
                    "clientInfo": { "name": "agent", "version": "1" } }),
            )
            .await;
        self.notify("notifications/initialized", json!({})).await;
        answer
    }

    async fn call_tool(&mut self, name: &str, arguments: Value) -> (Value, Vec<Value>) {
        self.call("tools/call", json!({ "name": name, "arguments": arguments })).await
    }
}

struct McpServer {
    url: String,
    fixture: Arc<McpFixture>,
    _tasks: BackgroundTasks,
}

async fn start_server() -> McpServer {
    let fixture = Arc::new(McpFixture::new().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let tasks = BackgroundTasks::new();
    let served = Arc::clone(&fixture);
    tasks.spawn_until_finish("mcp", async move {
        serve(served, listener).await.unwrap();
    });
    McpServer { url, fixture, _tasks: tasks }
}

#[tokio::test]
async fn tools_are_listed_and_called_through_the_bridge() {
    let server = start_server().await;
    let mut client = BridgeClient::start(server.url);

    let initialized = client.initialize().await;
    let (listed, _) = client.call("tools/list", json!({})).await;
    let (echoed, _) = client.call_tool("echo", json!({ "text": "hello" })).await;
    let (failed, _) = client.call_tool("test_error_handling", json!({})).await;
    let (pinged, _) = client.call("ping", json!({})).await;
    let (unknown, _) = client.call("no/such/method", json!({})).await;

    assert_eq!(initialized["result"]["protocolVersion"], "2025-06-18");
    assert!(initialized["result"]["capabilities"]["tools"].is_object(), "{initialized}");
    assert!(listed["result"]["tools"].as_array().unwrap().len() > 10);
    assert!(echoed["result"]["content"][0]["text"].as_str().unwrap().contains("hello"), "{echoed}");
    assert_eq!(server.fixture.calls(), 1);
    assert_eq!(failed["result"]["isError"], true);
    assert_eq!(pinged["result"], json!({}));
    assert!(unknown["error"]["code"].is_i64(), "{unknown}");
}

#[tokio::test]
async fn notifications_and_requests_of_the_server_reach_the_client() {
    let server = start_server().await;
    let mut client = BridgeClient::start(server.url);
    client.initialize().await;

    let id = client
        .request(
            "tools/call",
            json!({ "name": "test_elicitation", "arguments": { "message": "Who?" } }),
        )
        .await;
    let question = client.next().await;
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let answer = json!({ "action": "accept", "content": { "username": "u", "email": "e" } });
    client.send(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": answer })).await;
    let answered = client.next().await;
    assert_eq!(answered["id"], id);
    assert!(answered["result"]["content"][0]["text"].is_string(), "{answered}");

    let progress = json!({ "name": "test_tool_with_progress", "arguments": {},
        "_meta": { "progressToken": "p" } });
    let (_, others) = client.call("tools/call", progress).await;
    assert!(others.iter().all(|message| message["params"]["progressToken"] == "p"), "{others:?}");
    assert!(others.iter().any(|message| message["method"] == "notifications/progress"));
}

#[tokio::test]
async fn a_cancelled_request_is_cancelled_at_the_server() {
    let server = start_server().await;
    let mut client = BridgeClient::start(server.url);
    client.initialize().await;

    let waiting = client
        .request("tools/call", json!({ "name": "wait", "arguments": { "ms": 1_000_000 } }))
        .await;
    // The bridge handles lines in order, and another request shows that it is past the first.
    client.call_tool("echo", json!({ "text": "x" })).await;
    client.notify("notifications/cancelled", json!({ "requestId": waiting })).await;
    let (echoed, others) = client.call_tool("echo", json!({ "text": "still here" })).await;

    assert!(echoed["result"].is_object());
    assert!(others.is_empty(), "a cancelled request has no answer: {others:?}");
    while server.fixture.cancelled() == 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_bridge_ends_with_its_input_and_answers_what_is_in_flight() {
    let server = start_server().await;
    let mut client = BridgeClient::start(server.url);
    client.initialize().await;
    let id =
        client.request("tools/call", json!({ "name": "wait", "arguments": { "ms": 50 } })).await;

    drop(client.input.take());

    assert_eq!(client.next().await["id"], id);
    assert!(client.output.next_line().await.unwrap().is_none());
    assert!(client.ended.await.unwrap().is_ok());
}

#[tokio::test]
async fn lines_that_are_no_messages_are_answered_and_endless_ones_end_the_bridge() {
    let server = start_server().await;
    let mut client = BridgeClient::start(server.url);
    client.initialize().await;

    for line in ["text", "[]", "{}", r#"{"jsonrpc":"2.0","id":{},"method":"m"}"#] {
        let input = client.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        assert!(client.next().await["error"]["code"].is_i64(), "{line}");
    }
    let (echoed, _) = client.call_tool("echo", json!({ "text": "x" })).await;
    assert!(echoed["result"].is_object());

    let mut input = client.input.take().unwrap();
    let chunk = vec![b'x'; 1 << 20];
    while input.write_all(&chunk).await.is_ok() {}
    assert!(matches!(client.ended.await.unwrap(), Err(BridgeError::LineTooLong)));
}

#[tokio::test]
async fn requests_in_flight_are_bounded() {
    let server = start_server().await;
    let mut client = BridgeClient::start(server.url);
    client.initialize().await;

    for _ in 0..64 {
        client
            .request("tools/call", json!({ "name": "wait", "arguments": { "ms": 1_000_000 } }))
            .await;
    }
    let (rejected, _) = client.call_tool("echo", json!({ "text": "x" })).await;

    assert!(rejected["error"]["message"].as_str().unwrap().contains("too many"), "{rejected}");
}

#[tokio::test]
async fn without_a_server_or_a_session_requests_are_errors() {
    let mut client = BridgeClient::start("http://127.0.0.1:1/mcp".to_owned());

    let (early, _) = client.call("tools/list", json!({})).await;
    let (opened, _) = client.call("initialize", json!({ "protocolVersion": "2025-06-18" })).await;

    assert!(early["error"]["message"].as_str().unwrap().contains("initialize"), "{early}");
    assert!(opened["error"]["message"].as_str().unwrap().contains("cannot be reached"), "{opened}");
}
