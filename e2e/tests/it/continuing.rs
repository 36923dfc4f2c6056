//! Stalled runs, and criteria converted to checks, with real processes.

use cynode_domain::criteria::Criterion;
use cynode_domain::ids::TaskId;
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::tasks::TaskView;
use nix::sys::signal::Signal;
use serde_json::json;

use crate::processes::{eventually, send_signal};
use crate::system::{PATIENCE, System};
use crate::work::{commands, count_step_runs, create_task_once, wait_until_closed};

/// Repeats its unfinished work.
const LINE: &str = "echo ran >> step-1; [ $(wc -l < step-1) -gt 1 ] || sleep 60";
const INTERRUPTED: &str = "agents.project_manager.continue.interrupted";

/// Stops the node while a job of the task runs.
async fn interrupt_job(system: &System, task: TaskId) {
    let state = system.data_dir().join("node");
    eventually("the first run", PATIENCE, || (count_step_runs(&state, task, 1) > 0).then_some(()))
        .await;
    send_signal(system.wait_for_role("node").await, Signal::SIGTERM);
}

/// The explanation of a task's run.
fn explain_run(system: &System, task: &TaskView) -> String {
    system.cynork(&["run", "explain", &task.task_name]).expect_success().stdout
}

#[tokio::test]
async fn an_interrupted_step_runs_again_once_a_person_says_so() {
    let system = System::new().await;
    let id = create_task_once(&system.client, commands(&[LINE])).await;
    interrupt_job(&system, id).await;

    let name = id.to_string();
    let asked = eventually("a question", PATIENCE, || {
        let shown = system.cynork(&["run", "show", &name]).stdout;
        shown.contains("Run it again?").then_some(shown)
    })
    .await;
    assert!(asked.contains("interrupted: the node was stopped"), "{asked}");
    assert!(asked.contains("it may have done part of its work"), "{asked}");
    system.cynork(&["run", "answer", &name, "--yes"]).expect_success();

    let view = wait_until_closed(&system.client, id, PATIENCE).await;
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    assert_eq!(count_step_runs(&system.data_dir().join("node"), id, 1), 2);
    let why = explain_run(&system, &view);
    assert!(why.contains("continuation: admin chose to run it again"), "{why}");
}

#[tokio::test]
async fn an_interrupted_step_runs_again_by_itself_if_a_preference_says_so() {
    let system = System::new().await;
    system.cynork(&["prefs", "set", INTERRUPTED, "retry"]).expect_success();
    let id = create_task_once(&system.client, commands(&[LINE])).await;
    interrupt_job(&system, id).await;

    let view = wait_until_closed(&system.client, id, PATIENCE).await;

    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    assert_eq!(count_step_runs(&system.data_dir().join("node"), id, 1), 2);
}

#[tokio::test]
async fn an_interrupted_step_fails_without_a_question_if_a_preference_says_so() {
    let system = System::new().await;
    system.cynork(&["prefs", "set", INTERRUPTED, "give_up"]).expect_success();
    let id = create_task_once(&system.client, commands(&[LINE])).await;
    interrupt_job(&system, id).await;

    let view = wait_until_closed(&system.client, id, PATIENCE).await;

    let summary = view.summary.unwrap();
    assert!(
        summary.contains("It was not run again: a preference fails interrupted steps"),
        "{summary}"
    );
    let events = system.cynork(&["run", "history", &id.to_string()]).expect_success();
    assert!(!events.stdout.contains("answer"), "{events:?}");
}

#[tokio::test]
async fn a_prompt_with_a_plain_demand_is_verified_by_rule() {
    let system = System::new().await;
    let line = "echo hi > \"$CYNODE_ARTIFACTS_DIR/hi.txt\"";
    let prompt = format!("run `{line}`");

    let made = ["task", "create", "--name", "greet", "--prompt", &prompt];
    let wanted = ["--accept", "the file hi.txt exists", "--wait"];
    system.cynork(&[&made[..], &wanted[..]].concat()).expect_success();

    let view = system.client.task_get("greet").await.unwrap();
    assert_eq!(view.acceptance_criteria, [Criterion::FileExists { path: "hi.txt".to_owned() }]);
    assert!(view.summary.clone().unwrap().contains("1 acceptance criterion is met: 1 by rule"));
    let why = explain_run(&system, &view);
    assert!(why.contains("met: artifact hi.txt exists"), "{why}");
    assert!(why.contains("file_exists"), "{why}");
    let events = system.cynork(&["task", "watch", "greet"]);
    assert!(events.stderr.contains("changed by an agent of admin"), "{events:?}");
}

#[tokio::test]
async fn what_a_model_adds_to_the_criteria_is_checked() {
    let provider = ScriptedProvider::start();
    provider.otherwise(Answer::status(400, "not today"));
    let plan = json!({ "commands": [{ "aim": "do it", "command": "echo hello" }], "assumptions": [], "question": "" });
    provider.when("Plan the commands that fulfil", Answer::tool_call("respond", plan));
    let check = json!({ "kind": "output_matches", "value": "goodbye" });
    let refined = json!({ "add": [check], "reason": "it says so" });
    provider.when("Which checks would show", Answer::tool_call("respond", refined));
    let system = System::new().await;
    let body = json!({
        "kind": "openai", "base_url": provider.openai_url(), "allow": "everyone",
        "models": ["scripted-model"],
    });
    let body = serde_json::from_value(body).unwrap();
    system.client.provider_put("scripted", &body).await.unwrap();
    let prompt = json!({ "input_mode": "prompt", "prompt": "Say goodbye to the world" });
    let id = create_task_once(&system.client, serde_json::from_value(prompt).unwrap()).await;

    let view = wait_until_closed(&system.client, id, PATIENCE).await;

    assert_eq!(view.status.as_str(), "failed", "{view:#?}");
    assert_eq!(view.acceptance_criteria.len(), 1, "{view:#?}");
    assert!(view.summary.unwrap().contains("standard output does not match goodbye"));
}
