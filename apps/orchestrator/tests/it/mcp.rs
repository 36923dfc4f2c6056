//! A client that speaks MCP, in the revision without sessions.

use cynode_domain::policy::AgentType;
use cynode_wire::agents::{BindingView, IssueAgentToken, NewAgentTokenView};
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::harness::OrchestratorHarness;

/// A client with a token.
#[derive(Clone)]
pub(crate) struct Mcp {
    http: reqwest::Client,
    url: String,
    token: String,
}

impl Mcp {
    /// A client of the gateway at `url`.
    pub(crate) fn at(url: &str, token: &str) -> Self {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { http, url: format!("{url}/mcp"), token: token.to_owned() }
    }

    /// A client of one server of the gateway at `url`.
    pub(crate) fn at_server(url: &str, server: &str, token: &str) -> Self {
        let all = Self::at(url, token);
        Self { url: format!("{}/{server}", all.url), ..all }
    }

    /// An agent of the administrator.
    pub(crate) async fn agent(harness: &OrchestratorHarness, agent: AgentType) -> Self {
        let issued = issue(harness, agent, BindingView::default()).await;
        Self::at(&harness.url(), &issued.secret)
    }

    /// Sends a request; how it was answered.
    pub(crate) async fn send_request(&self, method: &str, params: Value) -> (StatusCode, Value) {
        let mut params = params;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let mut request = self
            .http
            .post(&self.url)
            .bearer_auth(&self.token)
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method);
        if let Some(name) = params["name"].as_str() {
            request = request.header("mcp-name", name);
        }
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let response = request.json(&body).send().await.unwrap();
        (response.status(), response.json().await.unwrap_or_default())
    }

    /// Calls a tool; the whole answer.
    pub(crate) async fn answer(&self, tool: &str, arguments: Value) -> Value {
        self.send_request("tools/call", json!({ "name": tool, "arguments": arguments })).await.1
    }

    /// Calls a tool; its result, or why it failed.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        self.answer(tool, arguments).await["result"]["structuredContent"].clone()
    }

    /// The names of all tools that it is shown.
    pub(crate) async fn tools(&self) -> Vec<String> {
        let (_, list) = self.send_request("tools/list", json!({})).await;
        let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
        list["result"]["tools"].as_array().unwrap().iter().map(name).collect()
    }

    /// Whether the gateway still accepts its token.
    pub(crate) async fn is_token_accepted(&self) -> bool {
        self.send_request("tools/list", json!({})).await.0 != StatusCode::UNAUTHORIZED
    }
}

/// A token for an agent of the administrator.
pub(crate) async fn issue(
    harness: &OrchestratorHarness,
    agent_type: AgentType,
    binding: BindingView,
) -> NewAgentTokenView {
    let (name, user_id, expires_in_seconds) = ("test".to_owned(), None, None);
    let body = IssueAgentToken { agent_type, name, user_id, expires_in_seconds, binding };
    harness.admin().agent_token_issue(&body).await.unwrap()
}
