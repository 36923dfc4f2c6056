//! Instructions of the project manager, which come with heartbeats and with replies of tools.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use cynode_runtime::tasks::BackgroundTasks;
use cynode_testkit::provider::Answer;
use cynode_wire::agent_jobs::StopCondition;
use serde_json::{Value, json};

use crate::harness::{TestJob, command, finish};

const FIRST: &str = "0193a4b2-0000-7000-8000-00000000000a";
const SECOND: &str = "0193a4b2-0000-7000-8000-00000000000b";

/// A gateway that hands out instructions.
#[derive(Clone, Default)]
struct Manager {
    /// What each heartbeat gets.
    beats: Arc<Mutex<VecDeque<Vec<Value>>>>,
    /// What the reply of the tool carries.
    carried: Arc<Mutex<Vec<Value>>>,
    /// The arguments of heartbeats.
    heard: Arc<Mutex<Vec<Value>>>,
}

impl Manager {
    async fn start(&self, tasks: &BackgroundTasks) -> String {
        let router = Router::new().route("/mcp", post(respond)).with_state(self.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        tasks.spawn_until_finish("manager", async move {
            axum::serve(listener, router).await.unwrap();
        });
        url
    }
}

fn instruction(id: &str, text: &str) -> Value {
    json!({ "id": id, "instruction_type": "revise", "instructions": text, "context": {},
        "created_at": "2026-01-01T00:00:00Z" })
}

async fn respond(State(manager): State<Manager>, Json(body): Json<Value>) -> Json<Value> {
    let result = |result: Value| Json(json!({ "jsonrpc": "2.0", "id": 1, "result": result }));
    if body["method"] == "tools/list" {
        let tool = |name: &str| json!({ "name": name, "inputSchema": { "properties": {} } });
        return result(json!({ "tools": [tool("apmas_heartbeat"), tool("help.get")] }));
    }
    let params = &body["params"];
    if params["name"] == "apmas_heartbeat" {
        manager.heard.lock().unwrap().push(params["arguments"].clone());
        let items = manager.beats.lock().unwrap().pop_front().unwrap_or_default();
        let reply = json!({ "agent_status": "running", "deadline": "2026-01-01T00:00:00Z",
            "instructions": items });
        return result(json!({ "content": [], "structuredContent": reply }));
    }
    let items = std::mem::take(&mut *manager.carried.lock().unwrap());
    let text = |text: &str| json!({ "type": "text", "text": text });
    result(json!({
        "content": [text("the help"), text("----- BEGIN INSTRUCTIONS OF THE PROJECT MANAGER -----")],
        "_meta": { "cynode/instructions": { "role": "developer", "items": items } },
    }))
}

#[tokio::test]
async fn the_model_sees_instructions_of_a_heartbeat_and_acknowledges_them_once() {
    let (manager, tasks) = (Manager::default(), BackgroundTasks::new());
    let again = instruction(FIRST, "paint it blue");
    manager.beats.lock().unwrap().extend([vec![], vec![again.clone()], vec![again]]);
    let mut job = TestJob::with_script([command("true"), command("true"), finish()]);
    job.options.mcp_url = Some(manager.start(&tasks).await);

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::GoalMet, "{result:?}");
    let seen = job.observations();
    assert!(seen[1].contains("project manager") && seen[1].contains("paint it blue"), "{seen:#?}");
    let shown = seen.iter().filter(|text| text.contains("paint it blue")).count();
    assert_eq!(shown, 1, "a repetition is acknowledged, not shown: {seen:#?}");
    let heard = manager.heard.lock().unwrap().clone();
    let acknowledged: Vec<&Value> = heard.iter().map(|beat| &beat["acknowledge"]).collect();
    assert_eq!(acknowledged[..2], [&json!([]), &json!([])], "nothing was shown yet");
    assert_eq!(acknowledged[2], &json!([FIRST]));
    assert!(heard.iter().all(|beat| beat.get("agentRole").is_none()), "the token has the role");
}

#[tokio::test]
async fn instructions_that_a_reply_carries_are_shown_apart_from_its_data() {
    let (manager, tasks) = (Manager::default(), BackgroundTasks::new());
    manager.carried.lock().unwrap().push(instruction(SECOND, "leave main.rs alone"));
    let ask = Answer::tool_call("call_tool", json!({ "name": "help.get", "arguments": {} }));
    let mut job = TestJob::with_script([ask, finish()]);
    job.options.mcp_url = Some(manager.start(&tasks).await);

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::GoalMet, "{result:?}");
    let request = &job.provider.requests()[1].body["messages"];
    let texts: Vec<String> =
        request.as_array().unwrap().iter().map(|it| it["content"].to_string()).collect();
    let [.., reply, instructions] = &texts[..] else { panic!("{texts:#?}") };
    assert!(reply.contains("the help") && !reply.contains("BEGIN INSTRUCTIONS"), "{reply}");
    assert!(instructions.contains("leave main.rs alone"), "{instructions}");
    let acknowledged = manager.heard.lock().unwrap().last().unwrap()["acknowledge"].clone();
    assert_eq!(acknowledged, json!([SECOND]));
}

#[tokio::test]
async fn an_agent_that_is_done_hears_the_project_manager_first() {
    let (manager, tasks) = (Manager::default(), BackgroundTasks::new());
    manager.beats.lock().unwrap().extend([vec![], vec![instruction(FIRST, "add a test")]]);
    let mut job = TestJob::with_script([finish(), command("touch test"), finish()]);
    job.options.mcp_url = Some(manager.start(&tasks).await);

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::GoalMet, "{result:?}");
    assert!(job.observations()[1].contains("add a test"));
    assert!(job.folder.path().join("test").exists());
}
