//! An MCP server that records every call that reached it, independent of other processes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use cynode_runtime::tasks::BackgroundTasks;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// Calls rotate through this many names, which distinguish their records.
pub(crate) const NUMBERED: usize = 64;
/// Tools that no caller may call, with the reason.
pub(crate) const FORBIDDEN: [&str; 4] = ["off", "inner", "ruled", "odd"];
/// Duration of some calls, so that processes die during them.
const WORK: Duration = Duration::from_millis(4);

/// A received call: the tool, and its text.
pub(crate) type ReceivedCall = (String, String);

/// A listening server. It ends with the test's runtime.
pub(crate) struct CountingServer {
    pub(crate) url: String,
    arrived: Arc<Mutex<Vec<ReceivedCall>>>,
}

impl CountingServer {
    pub(crate) async fn start() -> Self {
        let arrived = Arc::new(Mutex::new(vec![]));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let router =
            Router::new().route("/mcp", post(handle_request)).with_state(Arc::clone(&arrived));
        BackgroundTasks::new()
            .spawn("counting", async move { axum::serve(listener, router).await.unwrap() });
        Self { url, arrived }
    }

    /// Every received call.
    pub(crate) fn received_calls(&self) -> Vec<ReceivedCall> {
        self.arrived.lock().unwrap().clone()
    }
}

async fn handle_request(
    State(arrived): State<Arc<Mutex<Vec<ReceivedCall>>>>,
    body: Bytes,
) -> Response {
    let message: Value = serde_json::from_slice(&body).unwrap();
    let result = match message["method"].as_str().unwrap() {
        "server/discover" => json!({
            "supportedVersions": ["2026-07-28"], "capabilities": { "tools": {} },
            "ttlMs": 0, "cacheScope": "private",
            "_meta": { "io.modelcontextprotocol/serverInfo": { "name": "counting", "version": "1" } },
        }),
        "tools/list" => json!({ "tools": tool_definitions(), "ttlMs": 0, "cacheScope": "private" }),
        "tools/call" => {
            let text = message["params"]["arguments"]["text"].as_str().unwrap_or_default();
            let tool = message["params"]["name"].as_str().unwrap();
            arrived.lock().unwrap().push((tool.to_owned(), text.to_owned()));
            if text.len().is_multiple_of(2) {
                tokio::time::sleep(WORK).await;
            }
            json!({ "content": [{ "type": "text", "text": text }] })
        }
        _ => return respond(StatusCode::NOT_FOUND, &error_response(&message["id"])),
    };
    let mut result = result;
    result["resultType"] = "complete".into();
    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
    respond(StatusCode::OK, &answer)
}

fn tool_definitions() -> Vec<Value> {
    let numbered = (0..NUMBERED).map(|number| format!("n{number}"));
    let schema = json!({
        "type": "object", "required": ["text"], "properties": { "text": { "type": "string" } },
    });
    let tool =
        |name: String| json!({ "name": name, "description": "Counts", "inputSchema": schema });
    numbered.chain(FORBIDDEN.map(str::to_owned)).map(tool).collect()
}

fn error_response(id: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "not spoken" } })
}

fn respond(status: StatusCode, body: &Value) -> Response {
    (status, [(CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
