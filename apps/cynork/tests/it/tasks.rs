//! Creating, waiting, watching, reading.

use serde_json::{Value, json};

use crate::fake::{Fake, TASK_ID, event, problem, task};

const EVENTS: &str = "GET /v1/events";

fn path(rest: &str) -> String {
    format!("GET /v1/tasks/{TASK_ID}{rest}")
}

fn story(status: &str) -> Vec<Value> {
    vec![
        event(1, "task.created", &json!({})),
        event(
            2,
            "workflow.transition",
            &json!({"node": "plan_steps", "edge": "planned", "duration_ms": 3}),
        ),
        event(3, "job.ended", &json!({"step_index": 0, "ending": {"kind": "exited", "code": 0}})),
        event(4, "task.closed", &json!({"status": status, "summary": "1 of 1 steps"})),
    ]
}

fn logs() -> Value {
    json!({"task_id": TASK_ID, "stdout": "hello\n", "stderr": "a warning\n"})
}

async fn fake_task(status: &str) -> Fake {
    let fake = Fake::start().await;
    fake.on("POST /v1/tasks", 201, &task("queued"))
        .on_events(&story(status))
        .on(&path(""), 200, &task(status))
        .on(&path("/logs"), 200, &logs());
    fake
}

#[tokio::test]
async fn waiting_streams_nodes_and_prints_the_tasks_output() {
    let fake = fake_task("completed").await;

    let ran = fake.cynork(&["task", "create", "--command", "echo hello", "--wait"]).await;

    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stdout, "hello\n");
    assert!(ran.stderr.contains("✓ plan_steps"), "{ran:?}");
    assert!(ran.stderr.contains("a warning"), "{ran:?}");
    assert!(ran.stderr.trim_end().ends_with("✓ completed: 1 of 1 steps (hello, 1.0 s)"), "{ran:?}");
    assert_eq!(fake.asked()[0].token, "Bearer cyn_test");
    assert_eq!(fake.asked()[0].body["commands"], json!(["echo hello"]));
}

#[tokio::test]
async fn waiting_for_a_task_that_fails_ends_with_one() {
    for status in ["failed", "canceled"] {
        let fake = fake_task(status).await;

        let ran = fake.cynork(&["task", "create", "--command", "false", "-w"]).await;

        assert_eq!(ran.code, 1, "{ran:?}");
        assert!(ran.stderr.contains(&format!("✗ {status}")), "{ran:?}");
        assert!(ran.stderr.contains("cynork task result hello"), "{ran:?}");
    }
}

#[tokio::test]
async fn waiting_quietly_prints_the_output_only() {
    let fake = fake_task("completed").await;

    let ran = fake.cynork(&["-q", "task", "create", "--command", "x", "-w"]).await;

    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("hello\n", "a warning\n"));
}

#[tokio::test]
async fn waiting_in_json_prints_the_result_as_one_value() {
    let fake = fake_task("completed").await;
    let result = json!({"task_id": TASK_ID, "status": "completed", "summary": null, "jobs": []});
    fake.on(&path("/result"), 200, &result);

    let ran = fake.cynork(&["-o", "json", "task", "create", "--command", "x", "-w"]).await;

    assert_eq!(ran.json(), result);
}

#[tokio::test]
async fn a_lost_event_stream_is_resumed_after_the_last_event() {
    let fake = Fake::start().await;
    let all = story("completed");
    fake.on("POST /v1/tasks", 201, &task("queued"))
        .on_events(&all[..2])
        .on(EVENTS, 503, &problem(503, "restarting"))
        .on_events(&all[2..])
        .on(&path(""), 200, &task("running"))
        .on(&path(""), 200, &task("completed"))
        .on(&path("/logs"), 200, &logs());

    let ran = fake.cynork(&["task", "create", "--command", "x", "-w"]).await;

    assert_eq!(ran.code, 0, "{ran:?}");
    let resumed: Vec<String> =
        fake.asked().iter().filter(|a| a.line == EVENTS).map(|a| a.last_event_id.clone()).collect();
    assert_eq!(resumed, ["", "2", "2"]);
    assert_eq!(ran.stderr.matches("plan_steps").count(), 1, "{ran:?}");
}

#[tokio::test]
async fn a_closing_that_nobody_heard_is_noticed() {
    let fake = Fake::start().await;
    fake.on("POST /v1/tasks", 201, &task("queued"))
        .on(EVENTS, 503, &problem(503, "restarting"))
        .on_events(&[])
        .on(&path(""), 200, &task("completed"))
        .on(&path("/logs"), 200, &logs());

    let ran = fake.cynork(&["task", "create", "--command", "x", "-w"]).await;

    assert_eq!((ran.code, ran.stdout.as_str()), (0, "hello\n"), "{ran:?}");
}

#[tokio::test]
async fn a_created_task_is_named_and_quietly_only_its_id_is_printed() {
    let fake = fake_task("queued").await;

    let ran = fake.cynork(&["task", "create", "--command", "x"]).await;
    let quiet = fake.cynork(&["-q", "task", "create", "--command", "x"]).await;

    assert!(ran.stdout.contains("hello"), "{ran:?}");
    assert!(ran.stderr.contains("cynork task watch hello"), "{ran:?}");
    assert_eq!(quiet.stdout, format!("{TASK_ID}\n"));
}

#[tokio::test]
async fn watching_in_json_prints_one_line_an_event() {
    let fake = fake_task("failed").await;
    fake.on("GET /v1/tasks/hello", 200, &task("running"));

    let ran = fake.cynork(&["-o", "json", "task", "watch", "hello"]).await;

    let kinds: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["kind"].clone())
        .collect();
    assert_eq!(kinds, ["task.created", "workflow.transition", "job.ended", "task.closed"]);
    assert_eq!(ran.code, 1);
}

#[tokio::test]
async fn watching_shows_nodes_and_ends_when_the_task_closes() {
    let fake = fake_task("completed").await;
    fake.on("GET /v1/tasks/hello", 200, &task("running"));

    let ran = fake.cynork(&["task", "watch", "hello"]).await;

    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("✓ plan_steps"), "{ran:?}");
    assert_eq!(ran.stdout, "✓ completed: 1 of 1 steps\n");
}

#[tokio::test]
async fn following_logs_prints_what_is_added_until_the_task_closes() {
    let fake = Fake::start().await;
    let logs = |stdout: &str| json!({"task_id": TASK_ID, "stdout": stdout, "stderr": ""});
    fake.on("GET /v1/tasks/hello", 200, &task("running"))
        .on("GET /v1/tasks/hello", 200, &task("completed"))
        .on("GET /v1/tasks/hello/logs", 200, &logs("one\n"))
        .on("GET /v1/tasks/hello/logs", 200, &logs("one\ntwo\n"));

    let ran = fake.cynork(&["task", "logs", "hello", "--follow"]).await;

    assert_eq!((ran.code, ran.stdout.as_str()), (0, "one\ntwo\n"), "{ran:?}");
}

#[tokio::test]
async fn oversize_files_are_refused_before_anything_is_sent() {
    let fake = Fake::start().await;
    let script = fake.path().join("big.sh");
    std::fs::write(&script, vec![b'#'; 256 * 1024 + 1]).unwrap();

    let ran = fake.cynork(&["task", "create", "--script", script.to_str().unwrap()]).await;

    assert_eq!(ran.code, 6, "{ran:?}");
    assert!(ran.stderr.contains("256 KiB"), "{ran:?}");
    assert!(fake.asked().is_empty());
}

#[tokio::test]
async fn an_artifact_is_saved_once_and_replaced_only_by_force() {
    let fake = Fake::start().await;
    fake.on("GET /v1/tasks/hello/artifacts/content", 200, "content");
    let out = fake.path().join("report.txt");
    let get = ["task", "artifacts", "get", "hello", "report.txt", "--out", out.to_str().unwrap()];

    assert_eq!(fake.cynork(&get).await.code, 0);
    let again = fake.cynork(&get).await;
    let forced = fake.cynork(&[get.as_slice(), &["--force"]].concat()).await;

    assert_eq!((again.code, forced.code), (5, 0), "{again:?}");
    assert_eq!(std::fs::read_to_string(out).unwrap(), "content");
}
