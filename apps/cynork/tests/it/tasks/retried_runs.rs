//! Tasks with several runs, of which retries began the later ones.

use serde_json::{Value, json};

use super::path;
use crate::fake::{ScriptedGateway, TASK_ID, event, task};

/// Events of two runs of one task: the first fails, and a retry starts the second.
fn retried_story(last: &str) -> Vec<Value> {
    let of_run = |run: u32, mut event: Value| {
        event["run_id"] = json!(run_id(run));
        event
    };
    vec![
        event(1, "task.created", &json!({})),
        of_run(1, event(2, "task.closed", &json!({"status": "failed", "summary": "no luck"}))),
        of_run(1, event(3, "run.retried", &json!({"by": "ada"}))),
        of_run(
            2,
            event(4, "workflow.transition", &json!({"node": "dispatch_step", "duration_ms": 3})),
        ),
        of_run(2, event(5, "task.closed", &json!({"status": last, "summary": "it worked"}))),
    ]
}

fn run_id(number: u32) -> String {
    format!("00000000-0000-7000-8000-0000000001{number:02}")
}

fn task_in_run(status: &str, run: u32) -> Value {
    let mut task = task(status);
    task["run_id"] = json!(run_id(run));
    task
}

#[tokio::test]
async fn watching_and_waiting_go_on_with_the_run_that_a_retry_began() {
    for (command, output) in [
        (&["task", "watch", "hello"][..], "table"),
        (&["task", "watch", "hello"], "json"),
        (&["task", "result", "hello", "--wait"], "table"),
    ] {
        let fake = ScriptedGateway::start().await;
        fake.respond("GET /v1/tasks/hello", 200, &task_in_run("running", 2))
            .respond(&path(""), 200, &task_in_run("running", 2))
            .respond(&path(""), 200, &task_in_run("completed", 2))
            .respond_with_events(&retried_story("completed"));
        let result =
            json!({"task_id": TASK_ID, "status": "completed", "summary": null, "jobs": []});
        fake.respond("GET /v1/tasks/hello/result", 200, &result);

        let ran = fake.cynork(&[command, &["-o", output]].concat()).await;

        assert_eq!(ran.code, 0, "{command:?} {output}: {ran:?}");
        let shown = format!("{}{}", ran.stdout, ran.stderr);
        assert!(shown.contains("dispatch_step"), "{command:?} {output}: {ran:?}");
    }
}

#[tokio::test]
async fn a_task_that_was_retried_before_is_watched_to_the_end_of_its_newest_run() {
    let fake = ScriptedGateway::start().await;
    fake.respond("GET /v1/tasks/hello", 200, &task_in_run("completed", 2))
        .respond(&path(""), 200, &task_in_run("completed", 2))
        .respond_with_events(&retried_story("completed"));

    let ran = fake.cynork(&["task", "watch", "hello"]).await;

    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("✓ dispatch_step"), "{ran:?}");
    assert!(ran.stderr.contains("✗ failed: no luck"), "{ran:?}");
}
