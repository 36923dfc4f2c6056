//! Tools of an MCP server.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use cynode_runtime::tasks::BackgroundTasks;
use cynode_testkit::provider::Answer;
use cynode_wire::agent_jobs::StopCondition;
use serde_json::{Value, json};

use crate::harness::{JOB, TASK, TestJob, finish};

/// A server that offers two tools and records calls.
struct ToolServer {
    url: String,
    calls: Arc<Mutex<Vec<Value>>>,
    _tasks: BackgroundTasks,
}

impl ToolServer {
    async fn start() -> Self {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let router = Router::new().route("/mcp", post(respond)).with_state(Arc::clone(&calls));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let tasks = BackgroundTasks::new();
        tasks.spawn_until_finish("tools", async move {
            axum::serve(listener, router).await.unwrap();
        });
        Self { url, calls, _tasks: tasks }
    }
}

async fn respond(
    State(calls): State<Arc<Mutex<Vec<Value>>>>,
    Json(body): Json<Value>,
) -> Json<Value> {
    let result = |result: Value| Json(json!({ "jsonrpc": "2.0", "id": 1, "result": result }));
    if body["method"] == "tools/list" {
        let text = json!({ "type": "string" });
        return result(json!({ "tools": [
            { "name": "artifact.put", "description": "Stores an artifact.\nMore.", "inputSchema": {
                "properties": { "task_id": text, "job_id": text, "path": text, "note": text },
                "required": ["task_id", "path"] } },
            { "name": "db.drop", "inputSchema": { "properties": {} } },
        ] }));
    }
    let params = &body["params"];
    calls.lock().unwrap().push(params.clone());
    if params["name"] == "db.drop" {
        let error = json!({ "type": "tool_not_allowed", "stage": "allowlist", "message": "not for agents" });
        return result(
            json!({ "isError": true, "content": [], "structuredContent": { "error": error } }),
        );
    }
    if params["arguments"].get("path").is_none() {
        let content = json!([{ "type": "text", "text": "path is missing" }]);
        return result(json!({ "isError": true, "content": content }));
    }
    result(json!({ "content": [{ "type": "text", "text": "stored" }] }))
}

fn call(name: &str, arguments: &Value) -> Answer {
    Answer::tool_call("call_tool", json!({ "name": name, "arguments": arguments }))
}

#[tokio::test]
async fn a_granted_tool_is_called_with_the_ids_of_the_job() {
    let server = ToolServer::start().await;
    let mut job = TestJob::with_script([
        call("artifact.put", &json!({ "path": "a", "task_id": "made up" })),
        call("artifact.put", &json!({})),
        call("artifact.get", &json!({})),
        finish(),
    ]);
    job.options.mcp_url = Some(server.url.clone());

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::GoalMet, "{result:?}");
    let calls = server.calls.lock().unwrap().clone();
    assert_eq!(calls.len(), 2);
    assert_eq!(calls[0]["arguments"], json!({ "path": "a", "task_id": TASK, "job_id": JOB }));
    let seen = job.observations();
    let list = "- artifact.put {note?, path}: Stores an artifact.\n- db.drop {}: ";
    assert!(seen[0].contains(list), "{}", seen[0]);
    assert!(seen[1].starts_with("the tool succeeded\nDATA 1\nstored"), "{}", seen[1]);
    assert!(seen[2].starts_with("the tool failed\nDATA 1\npath is missing"), "{}", seen[2]);
    assert!(seen[3].contains("the tools are artifact.put, db.drop"), "{}", seen[3]);
    assert_eq!(job.provider.requests()[0].body["tools"].as_array().unwrap().len(), 9);
}

#[tokio::test]
async fn a_rejection_by_the_gateway_ends_the_job() {
    let server = ToolServer::start().await;
    let mut job = TestJob::with_script([call("db.drop", &json!({})), finish()]);
    job.options.mcp_url = Some(server.url.clone());

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::ToolFailure, "{result:?}");
    assert!(result.failure_message.unwrap().contains("not for agents"));
    assert_eq!(result.steps.len(), 1);
}

#[tokio::test]
async fn without_the_server_the_job_goes_on_without_tools() {
    for url in ["http://127.0.0.1:1/mcp", "http://127.0.0.1:1/other"] {
        let mut job = TestJob::with_script([call("artifact.put", &json!({})), finish()]);
        job.options.mcp_url = Some(url.to_owned());

        let result = job.run().await;

        assert_eq!(result.stop, StopCondition::GoalMet, "{result:?}");
        assert!(job.observations()[1].contains("no tools are granted"));
        assert_eq!(job.progress()[0]["kind"], "tools");
    }
}
