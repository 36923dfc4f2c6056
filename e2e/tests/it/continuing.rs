//! Stalled runs, and criteria converted to checks, with real processes.

use std::time::{Duration, Instant};

use cynode_domain::criteria::Criterion;
use cynode_domain::ids::TaskId;
use cynode_domain::question::Reply;
use cynode_domain::verification::VerificationStatus;
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::runs::AnswerRun;
use cynode_wire::tasks::TaskView;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::fleet::{NODE, ProcessFleet};
use crate::processes::{eventually, send_signal};
use crate::project_manager::{PLANNING, plan_answer, prompt_task, system};
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
    let request = eventually("a question", PATIENCE, || {
        let shown = system.cynork(&["run", "show", &name]).stdout;
        shown.contains("Run it again?").then_some(shown)
    })
    .await;
    assert!(request.contains("interrupted: the worker node was stopped"), "{request}");
    assert!(request.contains("it may have done part of its work"), "{request}");
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
async fn without_a_project_manager_an_interrupted_step_runs_again_once_a_person_says_so() {
    let mut fleet = ProcessFleet::new(None);
    let url = fleet.add_orchestrator("orchestrator").await;
    fleet.add_runner("runner", &url, Duration::from_secs(10));
    fleet.add_node(NODE, &url).await;
    let (client, state) = (fleet.client(&url), fleet.node_state(NODE));
    let id = create_task_once(&client, commands(&[LINE])).await;
    eventually("the first run", PATIENCE, || (count_step_runs(&state, id, 1) > 0).then_some(()))
        .await;

    fleet.signal(NODE, Signal::SIGTERM);
    eventually("the end of the node", PATIENCE, || fleet.exit_status(NODE)).await;
    fleet.start(NODE);
    let name = id.to_string();
    let begun = Instant::now();
    let question = loop {
        if let Some(question) = client.run_get(&name).await.unwrap().question {
            break question;
        }
        assert!(begun.elapsed() < PATIENCE, "no question\n{}", fleet.read_all_logs());
        tokio::time::sleep(Duration::from_millis(25)).await;
    };
    let text = question.question.text;
    assert!(text.contains("interrupted: the worker node was stopped"), "{text}");
    assert!(text.ends_with("Run it again?"), "{text}");
    let answer = AnswerRun { reply: Reply::Yes {}, comment: None };
    client.run_answer(&name, &answer).await.unwrap();

    let view = fleet.wait_until_closed(&client, id).await;
    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    assert_eq!(count_step_runs(&state, id, 1), 2);
}

#[tokio::test]
async fn a_prompt_with_a_plain_demand_is_verified_by_rule() {
    let system = System::new().await;
    let line = "echo hi > \"$CYNODE_ARTIFACTS_DIR/hi.txt\"";
    let prompt = format!("run `{line}`");

    let made = ["task", "create", "--name", "greet", "--prompt", &prompt];
    let options = ["--accept", "the file hi.txt exists", "--wait"];
    system.cynork(&[&made[..], &options[..]].concat()).expect_success();

    let view = system.client.task_get("greet").await.unwrap();
    assert_eq!(view.acceptance_criteria, [Criterion::FileExists { path: "hi.txt".to_owned() }]);
    assert!(view.summary.clone().unwrap().contains("1 acceptance criterion is met: 1 by rule"));
    let why = explain_run(&system, &view);
    assert!(why.contains("met: artifact hi.txt exists"), "{why}");
    assert!(why.contains("file_exists"), "{why}");
    let events = system.cynork(&["task", "watch", "greet"]);
    assert!(events.stderr.contains("changed by an agent of admin"), "{events:?}");
}

/// Runs a prompt for which a model plans this command and adds this check.
async fn run_with_model_check(command: &str, check: &Value, max_attempts: u32) -> TaskView {
    let provider = ScriptedProvider::start();
    provider.when(PLANNING, plan_answer(&[command]));
    let refined = json!({ "add": [check], "reason": "it says so" });
    provider.when("Which checks would show", Answer::tool_call("respond", refined));
    let system = system(&provider).await;
    let mut body = prompt_task("Say goodbye to the world");
    body.max_attempts = Some(max_attempts);
    let id = create_task_once(&system.client, body).await;
    wait_until_closed(&system.client, id, PATIENCE).await
}

#[tokio::test]
async fn what_a_model_adds_to_the_criteria_is_checked() {
    let check =
        json!({ "expected_output": "goodbye", "kind": "output_matches", "value": "goodbye" });

    let view = run_with_model_check("echo hello", &check, 1).await;

    assert_eq!(view.status.as_str(), "failed", "{view:#?}");
    assert_eq!(view.acceptance_criteria.len(), 1, "{view:#?}");
    assert!(view.summary.unwrap().contains("standard output does not match goodbye"));
}

#[tokio::test]
async fn a_file_that_a_failed_attempt_left_in_the_workspace_meets_no_check_of_a_model() {
    // The first attempt writes the file and fails, the second writes nothing.
    let line = "if [ -e bye.txt ]; then exit 0; fi; echo bye > bye.txt; exit 1";
    let check = json!({
        "expected_output": "", "kind": "file_exists", "value": "bye.txt", "step": 1,
    });

    let view = run_with_model_check(line, &check, 2).await;

    assert_eq!(view.status.as_str(), "completed", "{view:#?}");
    assert_eq!(view.acceptance_criteria, [], "{view:#?}");
    assert_eq!(view.verification, Some(VerificationStatus::NotChecked), "{view:#?}");
}
