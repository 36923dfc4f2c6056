//! Arguments and results of tool calls are not stored.

use std::fs;
use std::path::Path;

use axum::Router;
use axum::routing::post;
use cynode_domain::ids::TraceId;
use cynode_domain::policy::AgentType;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_wire::audit::AuditQuery;
use cynode_wire::servers::{InstallServer, Transport};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::harness::{OrchestratorHarness, eventually};
use crate::mcp::Mcp;

/// A server whose tools return a text in a result, in a tool error and in a protocol error.
async fn talkative(says: &str) -> String {
    let says = says.to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let handler = async move |axum::Json(message): axum::Json<Value>| {
        let answer = match message["method"].as_str().unwrap() {
            "server/discover" => json!({ "result": {
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": { "tools": {} }, "ttlMs": 0, "cacheScope": "private",
            }}),
            "tools/list" => json!({ "result": {
                "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "tools": tools(),
            }}),
            _ => match message["params"]["name"].as_str() {
                Some("say") => text_result(&says, false),
                Some("fail") => text_result(&says, true),
                _ => json!({ "error": { "code": -32000, "message": says } }),
            },
        };
        let mut answer = answer;
        answer["jsonrpc"] = "2.0".into();
        answer["id"] = message["id"].clone();
        axum::Json(answer)
    };
    let router = Router::new().route("/mcp", post(handler));
    BackgroundTasks::new()
        .spawn("talkative", async move { axum::serve(listener, router).await.unwrap() });
    url
}

fn tools() -> Vec<Value> {
    let schema = json!({ "type": "object" });
    let tool = |name| json!({ "name": name, "description": "d", "inputSchema": schema });
    ["say", "fail", "refuse"].map(tool).into()
}

fn text_result(text: &str, is_error: bool) -> Value {
    json!({ "result": {
        "resultType": "complete",
        "content": [{ "type": "text", "text": text }],
        "structuredContent": { "text": text },
        "isError": is_error,
    }})
}

/// Installs the server and waits for its tools.
async fn install(harness: &OrchestratorHarness, url: String) {
    let transport = Transport::Http { url, headers: [].into() };
    let body = InstallServer { slug: "chat".to_owned(), system: false, transport, scope: None };
    harness.admin().server_install(&body).await.unwrap();
    let pm = Mcp::agent(harness, AgentType::Pm).await;
    let is_listed = async || pm.tools().await.contains(&"chat.say".to_owned()).then_some(());
    eventually("the tools are listed", is_listed).await;
}

fn marker(kind: &str) -> String {
    format!("{kind}-{}", TraceId::generate())
}

pub(crate) async fn what_tools_are_told_and_answer_is_stored_nowhere(harness: OrchestratorHarness) {
    let (reported, answered) = (marker("told"), marker("answered"));
    install(&harness, talkative(&answered).await).await;
    let pm = Mcp::agent(&harness, AgentType::Pm).await;
    let stranger = Mcp::at(&harness.url(), "cyn_pm_unknown");

    for tool in ["chat.say", "chat.fail", "chat.refuse"] {
        let answer = pm.answer(tool, json!({ "text": reported })).await.to_string();
        assert!(answer.contains(&answered), "{answer}");
    }
    let help = pm.call("help.get", json!({})).await;
    assert!(help["markdown"].as_str().unwrap().contains("You call as `pm`"));
    for (tool, arguments) in [
        ("help.get", json!({ "topic": reported })),
        ("help.get", json!({ "topic": [reported] })),
        ("help.get", json!({ "task_id": reported })),
        ("db.task.get", json!({ "task_id": TraceId::generate(), "other": reported })),
        ("no.such.tool", json!({ "text": reported })),
    ] {
        pm.answer(tool, arguments).await;
    }
    stranger.answer("help.get", json!({ "topic": reported })).await;
    // Control: text that a tool stores on request is found by the search.
    let kept = marker("kept");
    pm.call("db.project.create", json!({ "display_name": kept })).await;

    let rows = harness.admin().call_list(&AuditQuery::default()).await.unwrap().items;
    assert_eq!(rows.len(), 11, "{rows:#?}");
    let database = harness.database();
    assert!(!database.tables_containing(&kept).await.is_empty());
    for text in [reported.as_str(), &answered, "You call as `pm`"] {
        assert_eq!(database.tables_containing(text).await, Vec::<String>::new(), "{text}");
        assert_eq!(files_with(harness.data_dir(), text), Vec::<String>::new(), "{text}");
    }
}

/// The files below a directory that hold this text.
fn files_with(directory: &Path, text: &str) -> Vec<String> {
    let mut found = vec![];
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
        } else if fs::read(&path).unwrap().windows(text.len()).any(|part| part == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}
