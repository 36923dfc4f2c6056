//! Operations on runs, with `cynork` against real processes.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::processes::eventually;
use crate::system::{PATIENCE, System};

/// The newest run of a task, once it is in one of these states.
async fn wait_for_run_state(system: &System, task: &str, states: &[&str]) -> Value {
    eventually(&format!("{task} in one of {states:?}"), PATIENCE, || {
        let run = system.cynork(&["run", "show", task, "-o", "json"]).expect_success().json();
        states.iter().any(|state| run["state"] == *state).then_some(run)
    })
    .await
}

fn create_task(system: &System, name: &str, flags: &[&str], commands: &[&str]) {
    let mut args = vec!["task", "create", "--quiet", "--name", name];
    args.extend(flags);
    args.extend(commands.iter().flat_map(|command| ["--command", command]));
    system.cynork(&args).expect_success();
}

/// A step that signals its start, and ends when it is released.
const WAITS: &str =
    "echo one; touch begun; for i in $(seq 2400); do [ -e go ] && break; sleep 0.05; done";

/// Workspace of the step of [`WAITS`], once it has started: a run is `running` before its first
/// step.
async fn wait_until_started(system: &System, task: &str) -> PathBuf {
    let task = system.cynork(&["task", "get", task, "-o", "json"]).expect_success().json();
    let workspace = system.data_dir().join("node/workspaces").join(task["id"].as_str().unwrap());
    let is_begun = || workspace.join("begun").exists().then_some(());
    eventually("the step's beginning", PATIENCE, is_begun).await;
    workspace
}

#[tokio::test]
async fn a_run_is_paused_between_two_nodes_goes_on_where_it_was_and_is_forked() {
    let system = System::new().await;
    create_task(&system, "build", &[], &[WAITS, "echo two"]);
    let workspace = wait_until_started(&system, "build").await;

    system.cynork(&["run", "pause", "build"]).expect_success();
    fs::write(workspace.join("go"), "").unwrap();
    let paused = wait_for_run_state(&system, "build", &["paused"]).await;
    assert!(paused["lease"].is_null(), "{paused}");
    system.cynork(&["run", "resume", "build"]).expect_success();
    let done = wait_for_run_state(&system, "build", &["completed", "failed"]).await;
    system.cynork(&["run", "fork", "build", "2", "--name", "again"]).expect_success();
    let workspace = wait_until_started(&system, "again").await;
    fs::write(workspace.join("go"), "").unwrap();
    let forked = wait_for_run_state(&system, "again", &["completed", "failed"]).await;

    assert_eq!((&done["state"], &forked["state"]), (&"completed".into(), &"completed".into()));
    for task in ["build", "again"] {
        assert_eq!(
            system.cynork(&["task", "logs", task]).expect_success().stdout,
            "one\ntwo\n",
            "{task}"
        );
    }
    let refused = system.cynork(&["run", "pause", "build"]);
    assert!(refused.code != 0 && refused.stderr.contains("already completed"), "{refused:?}");
}

#[tokio::test]
async fn an_approved_run_that_fails_is_retried_without_repeating_what_was_done() {
    let system = System::new().await;
    let fails_once = "test -f seen || { touch seen; exit 1; }";
    create_task(&system, "ship", &["--approve-plan"], &["echo built", fails_once, "echo shipped"]);

    let request = wait_for_run_state(&system, "ship", &["needs_answer"]).await;
    assert!(request["lease"].is_null(), "{request}");
    let waiting = system
        .cynork(&["task", "list", "--status", "waiting", "-o", "json"])
        .expect_success()
        .json();
    assert_eq!(waiting["items"][0]["task_name"], "ship", "{waiting}");
    let running = system
        .cynork(&["task", "list", "--status", "running", "-o", "json"])
        .expect_success()
        .json();
    assert_eq!(running["items"].as_array().map(Vec::len), Some(0), "{running}");
    system.cynork(&["run", "answer", "ship", "--yes"]).expect_success();
    let failed = wait_for_run_state(&system, "ship", &["completed", "failed"]).await;
    system.cynork(&["run", "retry", "ship"]).expect_success();
    let result = system.cynork(&["task", "result", "ship", "--wait"]).expect_success();
    assert!(result.stdout.contains("completed"), "{result:?}");
    let watched = system.cynork(&["task", "watch", "ship"]).expect_success();
    assert!(watched.stdout.starts_with("✓ completed"), "{watched:?}");
    let done = wait_for_run_state(&system, "ship", &["completed"]).await;

    assert_eq!(failed["state"], "failed");
    assert_ne!(failed["id"], done["id"]);
    assert_eq!(
        system.cynork(&["task", "logs", "ship"]).expect_success().stdout,
        "built\nshipped\n"
    );
    let explained = system.cynork(&["run", "explain", "ship"]).expect_success().stdout;
    assert!(explained.contains("verification of step 2"), "{explained}");
}

#[tokio::test]
async fn a_task_in_prose_asks_what_to_run_and_a_no_ends_it() {
    let system = System::new().await;
    for name in ["report", "never"] {
        let prose = ["task", "create", "-q", "--name", name, "--prompt", "Write hello"];
        system.cynork(&prose).expect_success();
        wait_for_run_state(&system, name, &["needs_answer"]).await;
    }

    let wrong = system.cynork(&["run", "answer", "report", "--yes"]);
    system.cynork(&["run", "answer", "report", "--command", "echo hello"]).expect_success();
    system.cynork(&["run", "answer", "never", "--no", "-m", "not now"]).expect_success();

    assert!(wrong.code != 0 && wrong.stderr.contains("commands, script"), "{wrong:?}");
    assert_eq!(
        wait_for_run_state(&system, "report", &["completed", "failed"]).await["state"],
        "completed"
    );
    let never = wait_for_run_state(&system, "never", &["completed", "failed"]).await;
    assert_eq!(never["state"], "failed");
    assert!(never["summary"].as_str().unwrap().contains("not now"), "{never}");
}
