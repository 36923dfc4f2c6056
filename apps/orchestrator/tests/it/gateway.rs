//! The gateway inside a real orchestrator, over a real database.

use std::sync::Arc;

use cynode_orchestrator::{OrchestratorOptions, OrchestratorServer};
use cynode_runtime::clock::SystemClock;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::eventually;

struct GatewayInstallation {
    url: String,
    admin: String,
    http: reqwest::Client,
    shutdown: Shutdown,
    _data: TempDir,
}

impl GatewayInstallation {
    async fn new() -> Self {
        let data = tempfile::tempdir().unwrap();
        let options = OrchestratorOptions {
            listen: "127.0.0.1:0".to_owned(),
            ..OrchestratorOptions::default()
        };
        let orchestrator =
            OrchestratorServer::start(&options, data.path(), Arc::new(SystemClock)).await.unwrap();
        let url = format!("http://{}", orchestrator.address());
        let shutdown = Shutdown::new();
        let stop = shutdown.clone();
        BackgroundTasks::new().spawn("orchestrator", async move { orchestrator.serve(stop).await });
        let admin =
            std::fs::read_to_string(data.path().join("admin.token")).unwrap().trim().to_owned();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { url, admin, http, shutdown, _data: data }
    }

    /// Calls the REST API as administrator.
    async fn rest(&self, method: Method, path: &str, body: Option<Value>) -> Value {
        let mut request =
            self.http.request(method, format!("{}{path}", self.url)).bearer_auth(&self.admin);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Issues a token for an agent of the administrator; gives its id and secret.
    async fn token(&self, agent: &str) -> (String, String) {
        let body = json!({ "agent_type": agent, "name": "test" });
        let issued = self.rest(Method::POST, "/v1/agent-tokens", Some(body)).await;
        let text = |value: &Value| value.as_str().unwrap_or_else(|| panic!("{issued}")).to_owned();
        (text(&issued["id"]), text(&issued["secret"]))
    }

    async fn ask(&self, token: &str, method: &str, params: Value) -> (StatusCode, Value) {
        let mut params = params;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let mut request = self
            .http
            .post(format!("{}/mcp", self.url))
            .bearer_auth(token)
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", method);
        if let Some(name) = params["name"].as_str() {
            request = request.header("mcp-name", name);
        }
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let response = request.json(&body).send().await.unwrap();
        let status = response.status();
        (status, response.json().await.unwrap())
    }

    async fn call(&self, token: &str, tool: &str, arguments: Value) -> Value {
        let (status, answer) =
            self.ask(token, "tools/call", json!({ "name": tool, "arguments": arguments })).await;
        assert_eq!(status, StatusCode::OK, "{answer}");
        answer["result"]["structuredContent"].clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_and_people_call_tools_of_a_fresh_installation_and_every_call_is_on_record() {
    let installation = Box::pin(GatewayInstallation::new()).await;
    let (_, pm) = installation.token("pm").await;
    let (_, pa) = installation.token("pa").await;

    let project =
        installation.call(&pm, "db.project.create", json!({ "display_name": "Moon" })).await;
    let seen = installation.call(&pa, "db.project.get", json!({ "slug": "moon" })).await;
    let denied =
        installation.call(&pa, "db.project.create", json!({ "display_name": "Mars" })).await;
    let mine = installation.call(&installation.admin, "db.project.list", json!({})).await;

    assert_eq!((&project["slug"], &seen["id"]), (&json!("moon"), &project["id"]));
    assert_eq!(denied["error"]["stage"], "allowlist");
    assert!(mine["items"].as_array().unwrap().iter().any(|item| item["slug"] == "moon"));
    let calls = installation.rest(Method::GET, "/v1/audit/calls", None).await;
    let rows: Vec<_> = calls["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["agent_type"].clone(), row["decision"].clone(), row["status"].clone()))
        .collect();
    let row =
        |agent: &str, decision: &str, status: &str| (json!(agent), json!(decision), json!(status));
    assert_eq!(rows.len(), 4, "{calls}");
    for expected in [
        row("pm", "allow", "success"),
        row("pa", "allow", "success"),
        row("pa", "deny", "error"),
        row("user", "allow", "success"),
    ] {
        assert!(rows.contains(&expected), "{expected:?} in {rows:?}");
    }
    let verified = installation.rest(Method::GET, "/v1/audit/verify", None).await;
    assert_eq!(verified["intact"], true, "{verified}");
    installation.shutdown.trigger();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_administrator_changes_holds_for_the_next_call() {
    let installation = Box::pin(GatewayInstallation::new()).await;
    let (id, pm) = installation.token("pm").await;
    assert!(installation.call(&pm, "node.list", json!({})).await["items"].is_array());

    let off = Some(json!({ "enabled": false }));
    installation.rest(Method::PATCH, "/v1/tools/node.list", off).await;
    let explained = json!({ "caller": "pm", "tool": "node.list" });
    let explained = installation.rest(Method::POST, "/v1/access/explain", Some(explained)).await;
    // The gateway is notified of the change asynchronously.
    let refused = eventually("the call is refused", async || {
        let answer = installation.call(&pm, "node.list", json!({})).await;
        (!answer["error"].is_null()).then_some(answer)
    })
    .await;

    assert_eq!(refused["error"]["stage"], "enabled");
    assert!(explained["stages"].is_array());
    let (_, list) = installation.ask(&pm, "tools/list", json!({})).await;
    let names: Vec<_> =
        list["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert!(!names.contains(&&json!("node.list")) && names.contains(&&json!("node.get")));
    installation.rest(Method::DELETE, &format!("/v1/agent-tokens/{id}"), None).await;
    eventually("the token is refused", async || {
        let (status, _) = installation.ask(&pm, "tools/list", json!({})).await;
        (status == StatusCode::UNAUTHORIZED).then_some(())
    })
    .await;
    installation.shutdown.trigger();
}
