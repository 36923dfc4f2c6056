//! Agents at work in real sandboxes, with a scripted model.

use std::time::Duration;

use cynode_domain::ids::TaskId;
use cynode_domain::policy::AgentType;
use cynode_domain::verification::VerificationStatus;
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::page::PageQuery;
use cynode_wire::tasks::{CreateTask, LogQuery, TaskView};
use cynode_wire::traces::{TraceQuery, TraceSpanKind};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::processes::send_signal;
use crate::project_manager::system;
use crate::system::{PATIENCE, System};
use crate::work::{create_task_once, wait_until_closed};

/// A script with a fault, and its correction.
///
/// `total=0`, `for n in 1 2 3; do total=$((total - n)); done`, `echo $total`
const BROKEN_BASE64: &str =
    "dG90YWw9MApmb3IgbiBpbiAxIDIgMzsgZG8gdG90YWw9JCgodG90YWwgLSBuKSk7IGRvbmUKZWNobyAkdG90YWwK";
const FAULT: &str = "total - n";
const CORRECTION: &str = "total + n";

/// A task for an agent that repairs the script.
fn repair_task() -> CreateTask {
    serde_json::from_value(json!({
        "input_mode": "agent",
        "prompt": "attachments/sum.sh must print the sum of 1, 2 and 3. Repair it.",
        "attachments": [{ "name": "sum.sh", "content_base64": BROKEN_BASE64 }],
        "acceptance_criteria": [
            { "kind": "command_succeeds", "command": "test \"$(sh attachments/sum.sh)\" = 6" },
        ],
    }))
    .unwrap()
}

fn edit() -> Answer {
    let edits = json!([{ "old": FAULT, "new": CORRECTION }]);
    Answer::tool_call("edit_file", json!({ "path": "attachments/sum.sh", "edits": edits }))
}

fn run(command: &str) -> Answer {
    Answer::tool_call("run_command", json!({ "command": command }))
}

fn finish() -> Answer {
    let evidence = json!([{ "criterion": 0, "evidence": "it prints 6" }]);
    Answer::tool_call("finish", json!({ "summary": "repaired the sum", "evidence": evidence }))
}

/// The result that the agent wrote.
async fn agent_result(system: &System, task: TaskId) -> Value {
    let path = "agent-result.json";
    let content = system.client.artifact_content(&task.to_string(), path).await.unwrap();
    serde_json::from_slice(&content).unwrap()
}

async fn run_to_end(system: &System, body: CreateTask) -> TaskView {
    let task = create_task_once(&system.client, body).await;
    wait_until_closed(&system.client, task, PATIENCE).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_repairs_a_file_and_rules_verify_the_result() {
    let provider = ScriptedProvider::start();
    let system = system(&provider).await;
    let read = Answer::tool_call("read_file", json!({ "path": "attachments/sum.sh" }));
    provider.script([read, edit(), run("sh attachments/sum.sh"), finish()]);

    let task = run_to_end(&system, repair_task()).await;

    assert_eq!(task.verification, Some(VerificationStatus::Verified), "{task:?}");
    let result = agent_result(&system, task.id).await;
    assert_eq!((&result["status"], &result["stop"]), (&json!("success"), &json!("goal_met")));
    assert_eq!(result["changed_files"], json!(["attachments/sum.sh"]));
    assert!(provider.has_received("must print the sum"), "{:?}", provider.requests());
    assert!(provider.has_received("total=0"), "the content of the file reaches the model");
    // Every call is on record, for the task and its agent.
    let calls = system.client.inference_list(&serde_json::from_value(json!({})).unwrap()).await;
    let calls = json!(calls.unwrap());
    let rows = calls["calls"]["items"].as_array().unwrap();
    let of_task = rows.iter().filter(|row| row["task"] == json!(task.id)).count();
    assert_eq!(of_task, 4, "{calls}");
    // The token of the job is revoked, and no request carried it.
    let tokens = system.client.agent_token_list(&PageQuery::default()).await.unwrap().items;
    let of_job: Vec<_> =
        tokens.iter().filter(|token| token.binding.task_id == Some(task.id)).collect();
    assert_eq!(of_job.len(), 1, "{tokens:?}");
    assert_eq!(of_job[0].agent_type, AgentType::Sandbox);
    assert!(of_job[0].revoked_at.is_some(), "{of_job:?}");
    assert!(!provider.has_received("cyn_sb_"));
    // The log is the transcript.
    let logs = system.client.task_logs(&task.id.to_string(), &LogQuery::default()).await.unwrap();
    assert!(json!(logs).to_string().contains("edit_file"), "{logs:?}");
    assert_steps_are_in_the_trace(&system, &task).await;
}

/// The steps of the agent are in the trace of the request, below its job, with tool, step and reason for stopping.
async fn assert_steps_are_in_the_trace(system: &System, task: &TaskView) {
    let trace = system.client.run_get(&task.task_name).await.unwrap().run.trace_id;
    let view = system.client.trace_get(trace, &TraceQuery::default()).await.unwrap();
    let job = view.spans.iter().find(|span| span.kind == TraceSpanKind::Job).unwrap();
    let of_agent =
        view.spans.iter().filter(|span| span.detail.starts_with("sandbox_agent profile=default"));
    let events: Vec<_> = of_agent.collect();
    assert!(events.iter().all(|event| event.parent_id.as_ref() == Some(&job.id)), "{events:#?}");
    let of_kind = |name: &str| events.iter().filter(|it| it.name == name).collect::<Vec<_>>();
    let finished: Vec<_> = of_kind("step_finished").iter().map(|it| it.detail.clone()).collect();
    let tools = ["read_file", "edit_file", "run_command", "finish"];
    assert_eq!(finished.len(), tools.len(), "{events:#?}");
    for (index, (detail, tool)) in finished.iter().zip(tools).enumerate() {
        assert!(detail.contains(&format!("step={index} tool={tool}")), "{finished:?}");
    }
    let stopped = of_kind("execution_stopped");
    assert_eq!(stopped.len(), 1, "{events:#?}");
    assert!(stopped[0].detail.contains("stop=goal_met"), "{stopped:?}");
    let shown = system.cynork(&["trace", "show", "--task", &task.task_name]).expect_success();
    assert!(shown.stdout.contains("tool=edit_file"), "{}", shown.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_claims_does_not_count() {
    let provider = ScriptedProvider::start();
    let system = system(&provider).await;
    provider.script([finish()]);
    let mut body = repair_task();
    let criteria = json!([{ "kind": "output_matches", "pattern": "^never printed$" }]);
    body.acceptance_criteria = serde_json::from_value(criteria).unwrap();

    let task = run_to_end(&system, body).await;

    assert_eq!(task.verification, None, "{task:?}");
    assert_eq!(json!(task.status), json!("failed"), "{task:?}");
    let result = agent_result(&system, task.id).await;
    assert_eq!(result["status"], "success", "the agent believes so: {result}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_survives_kills_of_node_and_orchestrator_and_acts_once() {
    let provider = ScriptedProvider::start();
    let system = system(&provider).await;
    provider.script([
        run("echo line >> lines; sleep 2"),
        run("sleep 2; test $(wc -l < lines) = 1"),
        edit(),
        finish(),
    ]);
    let task = create_task_once(&system.client, repair_task()).await;

    for (role, requests) in [("node", 1), ("orchestrator", 2)] {
        provider.wait_for_requests(requests).await;
        // The agent has the answer, and runs the command.
        tokio::time::sleep(Duration::from_millis(500)).await;
        send_signal(system.wait_for_role(role).await, Signal::SIGKILL);
        system.wait_until_ready().await;
    }

    let task = wait_until_closed(&system.client, task, PATIENCE).await;
    assert_eq!(task.verification, Some(VerificationStatus::Verified), "{task:?}");
    let result = agent_result(&system, task.id).await;
    let commands = result["steps"].as_array().unwrap().iter();
    let commands: Vec<_> = commands.filter(|step| step["action"] == "run_command").collect();
    assert_eq!(commands.len(), 3, "the last one is the check of the criterion: {result}");
    assert!(commands.iter().all(|step| step["exit_code"] == 0), "{result}");
}
