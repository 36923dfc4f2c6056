//! Clients that call tools continuously, and record every request and its response.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cynode_domain::ids::TokenId;
use cynode_runtime::tasks::BackgroundTasks;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::counting::{FORBIDDEN, NUMBERED};

/// Name of the installed counting server.
pub(crate) const SERVER: &str = "count";
/// Of this many consecutive calls, one goes to each forbidden tool.
const ROUND: usize = 12;

/// The orchestrator's address with a number that grows with each start. `None` stops the clients.
pub(crate) type OrchestratorAddress = Option<(u32, String)>;

/// A sent call.
#[derive(Debug, Clone)]
pub(crate) struct SentCall {
    /// The tool, by its server's own name.
    pub(crate) tool: String,
    /// Unique text of the call.
    pub(crate) text: String,
    /// The response.
    pub(crate) response: ClientCallResponse,
}

/// The response to a call, as seen by the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClientCallResponse {
    /// None: the connection broke.
    ConnectionLost,
    /// The tool's result.
    Result,
    /// A denial or failure of this stage and type.
    Error(String, String),
}

impl SentCall {
    /// The stage at which the gateway must deny the call, if any.
    pub(crate) fn expected_denial_stage(&self) -> Option<&'static str> {
        match self.tool.as_str() {
            "off" => Some("enabled"),
            "inner" => Some("scope"),
            "ruled" => Some("rules"),
            "odd" => Some("arguments"),
            _ => None,
        }
    }
}

/// A client with its own token. It sends one call after the other.
pub(crate) struct CallingClient {
    pub(crate) token: TokenId,
    calls: Arc<Mutex<Vec<SentCall>>>,
}

impl CallingClient {
    /// Starts a client among `tasks`; it ends when the place is none.
    pub(crate) fn start(
        (name, token, secret): (usize, TokenId, String),
        address: watch::Receiver<OrchestratorAddress>,
        tasks: &BackgroundTasks,
    ) -> Self {
        let calls = Arc::new(Mutex::new(vec![]));
        let kept = Arc::clone(&calls);
        tasks
            .spawn("caller", async move { call_continuously(name, &secret, address, &kept).await });
        Self { token, calls }
    }

    /// Every call, in order.
    pub(crate) fn calls(&self) -> Vec<SentCall> {
        self.calls.lock().unwrap().clone()
    }
}

async fn call_continuously(
    name: usize,
    secret: &str,
    mut address: watch::Receiver<OrchestratorAddress>,
    calls: &Mutex<Vec<SentCall>>,
) {
    let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(30));
    let http = http.build().unwrap();
    let (mut number, mut lost) = (0, None);
    loop {
        // After a broken connection, no call is possible before the next start.
        let is_new = |address: &OrchestratorAddress| {
            address.as_ref().is_none_or(|(start, _)| lost.is_none_or(|l| *start > l))
        };
        let Some((start, url)) = address.wait_for(is_new).await.unwrap().clone() else {
            return;
        };
        let tool = match FORBIDDEN.get(number % ROUND) {
            Some(forbidden) => (*forbidden).to_owned(),
            None => format!("n{}", number % NUMBERED),
        };
        let text = format!("{name}-{number}");
        let heard = send_call(&http, &url, secret, (&tool, &text)).await;
        lost = (heard == ClientCallResponse::ConnectionLost).then_some(start);
        calls.lock().unwrap().push(SentCall { tool, text, response: heard });
        number += 1;
    }
}

async fn send_call(
    http: &reqwest::Client,
    url: &str,
    secret: &str,
    call: (&str, &str),
) -> ClientCallResponse {
    let (tool, text) = call;
    let name = format!("{SERVER}.{tool}");
    // The call to `odd` violates its schema.
    let text = if tool == "odd" { json!(1) } else { json!(text) };
    let params = json!({
        "name": name,
        "arguments": { "text": text },
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    });
    let request = http
        .post(format!("{url}/mcp"))
        .bearer_auth(secret)
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", &name)
        .json(&json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }));
    let Ok(response) = request.send().await else {
        return ClientCallResponse::ConnectionLost;
    };
    match response.json::<Value>().await {
        Ok(answer) => parse_call_response(&answer),
        Err(_) => ClientCallResponse::ConnectionLost,
    }
}

fn parse_call_response(answer: &Value) -> ClientCallResponse {
    let of_tool = &answer["result"]["structuredContent"]["error"];
    let error = if of_tool.is_null() { &answer["error"]["data"]["error"] } else { of_tool };
    if error.is_null() && answer["result"]["content"].is_array() {
        return ClientCallResponse::Result;
    }
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    ClientCallResponse::Error(text(&error["stage"]), text(&error["type"]))
}
