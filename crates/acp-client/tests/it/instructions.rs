//! Instructions of the project manager between the turns of an agent.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use cynode_runtime::tasks::BackgroundTasks;
use cynode_wire::agent_jobs::StopCondition;
use serde_json::{Value, json};

use crate::harness::{AgentScript, TestProgram, response};

const ID: &str = "0193a4b2-0000-7000-8000-00000000000a";

/// A gateway that answers heartbeats with these instructions, in order.
#[derive(Clone, Default)]
struct Manager {
    beats: Arc<Mutex<VecDeque<Vec<Value>>>>,
    acknowledged: Arc<Mutex<Vec<Value>>>,
}

async fn respond(State(manager): State<Manager>, Json(body): Json<Value>) -> Json<Value> {
    let arguments = &body["params"]["arguments"];
    manager.acknowledged.lock().unwrap().push(arguments["acknowledge"].clone());
    let items = manager.beats.lock().unwrap().pop_front().unwrap_or_default();
    let reply = json!({ "agent_status": "running", "deadline": "2026-01-01T00:00:00Z",
        "instructions": items });
    let result = json!({ "content": [], "structuredContent": reply });
    Json(json!({ "jsonrpc": "2.0", "id": 1, "result": result }))
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

fn instruction(text: &str) -> Value {
    json!({ "id": ID, "instruction_type": "revise", "instructions": text, "context": { "a": 1 },
        "created_at": "2026-01-01T00:00:00Z" })
}

#[tokio::test]
async fn an_instruction_is_the_prompt_of_the_next_turn() {
    let (manager, tasks) = (Manager::default(), BackgroundTasks::new());
    // The second reply repeats the instruction: it is not prompted again.
    let same = || vec![instruction("paint it blue")];
    manager.beats.lock().unwrap().extend([same(), same()]);
    let script = AgentScript::with_session()
        .say("Painted.")
        .send(&response(3, &json!({ "stopReason": "end_turn" })))
        .receive()
        .say("Painted it blue.")
        .send(&response(4, &json!({ "stopReason": "end_turn" })))
        .build();
    let mut job = TestProgram::with_agent(&script, &json!({}));
    job.options.mcp_url = Some(manager.start(&tasks).await);

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::GoalMet, "{result:?}");
    assert!(result.summary.contains("Painted it blue."), "{}", result.summary);
    let prompts: Vec<String> = job
        .received()
        .iter()
        .filter(|message| message["method"] == "session/prompt")
        .map(|message| message["params"]["prompt"][0]["text"].to_string())
        .collect();
    assert_eq!(prompts.len(), 2, "{prompts:#?}");
    assert!(prompts[1].contains("project manager") && prompts[1].contains("paint it blue"));
    assert_eq!(job.lines_of("instruction").len(), 1);
    assert_eq!(*manager.acknowledged.lock().unwrap(), [json!([]), json!([ID])]);
}

#[tokio::test]
async fn a_turn_that_did_not_end_well_is_followed_by_none() {
    let (manager, tasks) = (Manager::default(), BackgroundTasks::new());
    manager.beats.lock().unwrap().push_back(vec![instruction("go on")]);
    let mut job = TestProgram::with_agent(&AgentScript::with_session().stop("refusal"), &json!({}));
    job.options.mcp_url = Some(manager.start(&tasks).await);

    let result = job.run().await;

    assert_eq!(result.stop, StopCondition::GaveUp, "{result:?}");
    assert!(manager.acknowledged.lock().unwrap().is_empty());
}
