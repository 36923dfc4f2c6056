//! `task` subcommands: create, wait, watch, logs, artifacts.

mod retried_runs;

use serde_json::{Value, json};

use crate::fake::{ScriptedGateway, TASK_ID, event, problem, task};

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

async fn fake_task(status: &str) -> ScriptedGateway {
    let fake = ScriptedGateway::start().await;
    fake.respond("POST /v1/tasks", 201, &task("queued"))
        .respond_with_events(&story(status))
        .respond(&path(""), 200, &task(status))
        .respond(&path("/logs"), 200, &logs());
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
    assert_eq!(fake.requests()[0].token, "Bearer cyn_test");
    assert_eq!(fake.requests()[0].body["commands"], json!(["echo hello"]));
}

#[tokio::test]
async fn a_task_that_completed_unverified_ends_with_nine_and_shows_every_check() {
    let mut unverified = task("completed");
    unverified["verification"] = json!("unverified");
    unverified["steps"] = json!([{
        "step_index": 0, "attempt": 1, "job_id": TASK_ID, "command": "echo hello",
        "status": "completed",
        "checks": [
            {"check": "exit_code", "result": "met", "judged_by": "rule",
             "message": "the command exited with code 0"},
            {"check": "text", "result": "not_judged", "message": "it greets (no model)"},
        ],
    }]);
    let fake = ScriptedGateway::start().await;
    fake.respond("POST /v1/tasks", 201, &task("queued"))
        .respond_with_events(&story("completed"))
        .respond(&path(""), 200, &unverified)
        .respond("GET /v1/tasks/hello", 200, &unverified)
        .respond(&path("/logs"), 200, &logs());

    let waited = fake.cynork(&["task", "create", "--command", "echo hello", "--wait"]).await;
    let shown = fake.cynork(&["task", "get", "hello"]).await;

    assert_eq!((waited.code, shown.code), (9, 0), "{waited:?}");
    assert!(waited.stderr.contains("? completed (unverified)"), "{waited:?}");
    for text in [&waited.stderr, &shown.stdout] {
        assert!(text.contains("1. echo hello"), "{text}");
        assert!(text.contains("✓ the command exited with code 0: met by rule"), "{text}");
        assert!(text.contains("? it greets (no model): not judged"), "{text}");
    }
    assert!(shown.stdout.contains("completed (unverified)"), "{shown:?}");
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
async fn a_created_task_has_the_same_json_fields_with_and_without_waiting() {
    let fake = fake_task("completed").await;
    let result =
        |status: &str| json!({"task_id": TASK_ID, "status": status, "summary": null, "jobs": []});
    fake.respond(&path("/result"), 200, &result("completed")).respond(
        &path("/result"),
        200,
        &result("queued"),
    );
    let create = ["-o", "json", "task", "create", "--command", "x"];

    let waited = fake.cynork(&[&create[..], &["--wait"]].concat()).await.json();
    let at_once = fake.cynork(&create).await.json();

    let fields = |json: &Value| json.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(fields(&waited), fields(&at_once));
    assert_eq!((&waited["status"], &at_once["status"]), (&json!("completed"), &json!("queued")));
    assert_eq!((&waited["id"], &waited["jobs"]), (&json!(TASK_ID), &json!([])));
}

#[tokio::test]
async fn a_task_that_waits_for_a_person_is_listed_as_waiting() {
    let fake = ScriptedGateway::start().await;
    let mut waiting = task("waiting");
    waiting["blocked_reason"] = json!("waiting for your answer: Which files?");
    fake.respond("GET /v1/tasks", 200, &json!({"items": [waiting]}));

    let table = fake.cynork(&["task", "list", "--status", "waiting"]).await;
    let json = fake.cynork(&["-o", "json", "task", "list"]).await;

    assert_eq!(table.code, 0, "{table:?}");
    assert!(table.stdout.contains("waiting") && table.stdout.contains("Which"), "{table:?}");
    assert_eq!(json.json()["items"][0]["status"], "waiting");
}

#[tokio::test]
async fn output_is_printed_while_the_task_still_runs() {
    let fake = ScriptedGateway::start().await;
    let logs = |stdout: &str| json!({"task_id": TASK_ID, "stdout": stdout, "stderr": ""});
    // The stream ends after the job has started, so later events arrive only after a reconnect.
    fake.respond("POST /v1/tasks", 201, &task("queued"))
        .respond_with_events(&[
            event(1, "job.started", &json!({"step_index": 0})),
            event(2, "workflow.transition", &json!({"node": "plan_steps", "duration_ms": 3})),
            event(
                3,
                "job.ended",
                &json!({"step_index": 0, "ending": {"kind": "exited", "code": 0}}),
            ),
            event(4, "task.closed", &json!({"status": "completed", "summary": "done"})),
        ])
        .respond(&path(""), 200, &task("completed"))
        .respond(&path("/logs"), 200, &logs("one\n"))
        .respond(&path("/logs"), 200, &logs("one\ntwo\n"));

    let ran = fake.cynork(&["task", "create", "--command", "x", "-w"]).await;

    assert_eq!((ran.code, ran.stdout.as_str()), (0, "one\ntwo\n"), "{ran:?}");
    let request: Vec<String> = fake.requests().into_iter().map(|request| request.line).collect();
    let first_logs = request.iter().position(|line| *line == path("/logs"));
    assert!(first_logs < request.iter().position(|line| *line == path("")), "{request:?}");
}

#[tokio::test]
async fn a_lost_event_stream_is_resumed_after_the_last_event() {
    let fake = ScriptedGateway::start().await;
    let all = story("completed");
    fake.respond("POST /v1/tasks", 201, &task("queued"))
        .respond_with_events(&all[..2])
        .respond(EVENTS, 503, &problem(503, "restarting"))
        .respond_with_events(&all[2..])
        .respond(&path(""), 200, &task("running"))
        .respond(&path(""), 200, &task("completed"))
        .respond(&path("/logs"), 200, &logs());

    let ran = fake.cynork(&["task", "create", "--command", "x", "-w"]).await;

    assert_eq!(ran.code, 0, "{ran:?}");
    let resumed: Vec<String> = fake
        .requests()
        .iter()
        .filter(|a| a.line == EVENTS)
        .map(|a| a.last_event_id.clone())
        .collect();
    assert_eq!(resumed, ["", "2", "2"]);
    assert_eq!(ran.stderr.matches("plan_steps").count(), 1, "{ran:?}");
}

#[tokio::test]
async fn a_closing_that_nobody_heard_is_noticed() {
    let fake = ScriptedGateway::start().await;
    fake.respond("POST /v1/tasks", 201, &task("queued"))
        .respond(EVENTS, 503, &problem(503, "restarting"))
        .respond_with_events(&[])
        .respond(&path(""), 200, &task("completed"))
        .respond(&path("/logs"), 200, &logs());

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
    fake.respond("GET /v1/tasks/hello", 200, &task("running"));

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
    fake.respond("GET /v1/tasks/hello", 200, &task("running"));

    let ran = fake.cynork(&["task", "watch", "hello"]).await;

    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("✓ plan_steps"), "{ran:?}");
    assert_eq!(ran.stdout, "✓ completed: 1 of 1 steps\n");
}

#[tokio::test]
async fn following_logs_prints_what_is_added_until_the_task_closes() {
    let fake = ScriptedGateway::start().await;
    let logs = |stdout: &str| json!({"task_id": TASK_ID, "stdout": stdout, "stderr": ""});
    fake.respond("GET /v1/tasks/hello", 200, &task("running"))
        .respond("GET /v1/tasks/hello", 200, &task("completed"))
        .respond("GET /v1/tasks/hello/logs", 200, &logs("one\n"))
        .respond("GET /v1/tasks/hello/logs", 200, &logs("one\ntwo\n"));

    let ran = fake.cynork(&["task", "logs", "hello", "--follow"]).await;

    assert_eq!((ran.code, ran.stdout.as_str()), (0, "one\ntwo\n"), "{ran:?}");
}

#[tokio::test]
async fn oversize_files_are_refused_before_anything_is_sent() {
    let fake = ScriptedGateway::start().await;
    let script = fake.path().join("big.sh");
    std::fs::write(&script, vec![b'#'; 256 * 1024 + 1]).unwrap();

    let ran = fake.cynork(&["task", "create", "--script", script.to_str().unwrap()]).await;

    assert_eq!(ran.code, 6, "{ran:?}");
    assert!(ran.stderr.contains("256 KiB"), "{ran:?}");
    assert!(fake.requests().is_empty());
}

#[tokio::test]
async fn an_artifact_is_saved_once_and_replaced_only_by_force() {
    let fake = ScriptedGateway::start().await;
    fake.respond("GET /v1/tasks/hello/artifacts/content", 200, "content");
    let out = fake.path().join("report.txt");
    let get = ["task", "artifacts", "get", "hello", "report.txt", "--out", out.to_str().unwrap()];

    assert_eq!(fake.cynork(&get).await.code, 0);
    let again = fake.cynork(&get).await;
    let forced = fake.cynork(&[get.as_slice(), &["--force"]].concat()).await;

    assert_eq!((again.code, forced.code), (5, 0), "{again:?}");
    assert_eq!(std::fs::read_to_string(out).unwrap(), "content");
}

#[tokio::test]
async fn an_artifact_is_saved_under_its_own_name_in_the_present_directory_by_default() {
    let fake = ScriptedGateway::start().await;
    fake.respond("GET /v1/tasks/hello/artifacts/content", 200, "content");

    let ran = fake.cynork(&["task", "artifacts", "get", "hello", "out/report.txt"]).await;

    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(std::fs::read_to_string(fake.path().join("report.txt")).unwrap(), "content");
    assert!(ran.stderr.contains("report.txt"), "{ran:?}");
}

#[tokio::test]
async fn a_skill_written_to_a_file_is_its_text_alone() {
    let fake = ScriptedGateway::start().await;
    let id = "00000000-0000-7000-8000-000000000009";
    let skill = json!({
        "id": id, "name": "Reviews", "scope": "user", "project_id": null, "group_id": null,
        "owner": null, "content_sha256": "", "version": 1, "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z", "updated_by": null,
        "content": "# Reviews\n\n- be kind\t\n",
    });
    fake.respond(&format!("GET /v1/skills/{id}"), 200, &skill);

    let ran = fake.cynork(&["skills", "get", id]).await;

    assert_eq!((ran.code, ran.stdout.as_str()), (0, "# Reviews\n\n- be kind\t\n"), "{ran:?}");
    assert!(ran.stderr.contains("Reviews"), "{ran:?}");
}

#[tokio::test]
async fn completion_knows_the_names_of_tasks() {
    let fake = fake_task("running").await;
    fake.respond("GET /v1/tasks", 200, &json!({"items": [task("running")]}));
    let env = [("CYNORK_TOKEN", "cyn_test"), ("CYNORK_COMPLETE", "fish")];

    let names = fake.cynork_with(&env, "", &["--", "cynork", "task", "get", ""]).await;
    let begun = fake.cynork_with(&env, "", &["--", "cynork", "run", "show", "he"]).await;
    let verbs = fake.cynork_with(&env, "", &["--", "cynork", "task", "wat"]).await;

    assert!(names.stdout.lines().any(|line| line == "hello"), "{names:?}");
    assert_eq!(begun.stdout, "hello\n", "{begun:?}");
    assert!(verbs.stdout.starts_with("watch"), "{verbs:?}");
}

#[tokio::test]
async fn completion_without_a_gateway_still_knows_commands_and_flags() {
    let fake = ScriptedGateway::start().await;
    let env = [("CYNORK_GATEWAY_URL", "http://127.0.0.1:1"), ("CYNORK_COMPLETE", "fish")];

    let ran = fake.cynork_with(&env, "", &["--", "cynork", "task", "get", "--"]).await;

    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.contains("--output"), "{ran:?}");
}
