//! Clients that call tools all the time, and remember what they asked for and what they heard.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use cynode_domain::ids::TokenId;
use cynode_runtime::tasks::Tasks;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::counting::{FORBIDDEN, NUMBERED};

/// The name under which the counting server is installed.
pub(crate) const SERVER: &str = "count";
/// Of this many calls in a row, one goes to each forbidden tool.
const ROUND: usize = 12;

/// Where the orchestrator is: a number that grows with each start, and its address. None while the
/// clients are to stop.
pub(crate) type Place = Option<(u32, String)>;

/// A call that was sent.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The tool, as its server calls it.
    pub(crate) tool: String,
    /// What makes the call unlike any other.
    pub(crate) text: String,
    /// What the client heard.
    pub(crate) heard: Heard,
}

/// What a client heard of its call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Nothing: the connection broke.
    Nothing,
    /// The tool's result.
    Result,
    /// A refusal or failure of this stage and type.
    Error(String, String),
}

impl Call {
    /// Whether the gateway is to refuse it, and at which stage.
    pub(crate) fn forbidden(&self) -> Option<&'static str> {
        match self.tool.as_str() {
            "off" => Some("enabled"),
            "inner" => Some("scope"),
            "ruled" => Some("rules"),
            "odd" => Some("arguments"),
            _ => None,
        }
    }
}

/// A client with a token of its own. It sends one call after the other.
pub(crate) struct Caller {
    pub(crate) token: TokenId,
    calls: Arc<Mutex<Vec<Call>>>,
}

impl Caller {
    /// Starts a client among `tasks`; it ends when the place is none.
    pub(crate) fn start(
        (name, token, secret): (usize, TokenId, String),
        place: watch::Receiver<Place>,
        tasks: &Tasks,
    ) -> Self {
        let calls = Arc::new(Mutex::new(vec![]));
        let kept = Arc::clone(&calls);
        tasks.spawn("caller", async move { call_on(name, &secret, place, &kept).await });
        Self { token, calls }
    }

    /// Every call, in order.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.calls.lock().unwrap().clone()
    }
}

async fn call_on(
    name: usize,
    secret: &str,
    mut place: watch::Receiver<Place>,
    calls: &Mutex<Vec<Call>>,
) {
    let http = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(30));
    let http = http.build().unwrap();
    let (mut number, mut lost) = (0, None);
    loop {
        // After a broken connection there is nothing to call before the next start.
        let is_new =
            |place: &Place| place.as_ref().is_none_or(|(start, _)| lost.is_none_or(|l| *start > l));
        let Some((start, url)) = place.wait_for(is_new).await.unwrap().clone() else {
            return;
        };
        let tool = match FORBIDDEN.get(number % ROUND) {
            Some(forbidden) => (*forbidden).to_owned(),
            None => format!("n{}", number % NUMBERED),
        };
        let text = format!("{name}-{number}");
        let heard = send(&http, &url, secret, (&tool, &text)).await;
        lost = (heard == Heard::Nothing).then_some(start);
        calls.lock().unwrap().push(Call { tool, text, heard });
        number += 1;
    }
}

async fn send(http: &reqwest::Client, url: &str, secret: &str, call: (&str, &str)) -> Heard {
    let (tool, text) = call;
    let name = format!("{SERVER}.{tool}");
    // The odd one breaks its schema.
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
        return Heard::Nothing;
    };
    match response.json::<Value>().await {
        Ok(answer) => heard(&answer),
        Err(_) => Heard::Nothing,
    }
}

fn heard(answer: &Value) -> Heard {
    let of_tool = &answer["result"]["structuredContent"]["error"];
    let error = if of_tool.is_null() { &answer["error"]["data"]["error"] } else { of_tool };
    if error.is_null() && answer["result"]["content"].is_array() {
        return Heard::Result;
    }
    let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
    Heard::Error(text(&error["stage"]), text(&error["type"]))
}
