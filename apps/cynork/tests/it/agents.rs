//! `agent profiles`, `agent canary`, and tasks that name a profile.

use serde_json::{Value, json};

use crate::fake::{ScriptedGateway, TASK_ID, event, problem, task};

const PROFILES: &str = "/v1/agent-profiles";

/// A profile whose only node has this outcome for the tools.
fn profile(status: &str, tools: &str) -> Value {
    let check =
        |kind: &str, outcome: &str| json!({ "kind": kind, "outcome": outcome, "detail": "seen" });
    json!({
        "name": "opencode", "revision": 2, "description": "an agent",
        "program": { "kind": "acp", "command": ["opencode", "acp"],
            "permissions": { "default": "reject" } },
        "hosts": ["example.com"], "created_by": TASK_ID,
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        "nodes": [{
            "node_id": TASK_ID, "node": "anvil", "status": status, "task_id": TASK_ID,
            "reported_at": "2026-01-01T00:00:00Z", "agent": "OpenCode\u{1b}[2J 1.2.3",
            "checks": [check("starts", "passed"), check("tools", tools), check("stops", "not_applicable")],
        }],
    })
}

async fn fake_canary(task_status: &str, profile: &Value) -> ScriptedGateway {
    let fake = ScriptedGateway::start().await;
    let mut started = task("queued");
    started["node"] = json!("anvil");
    let closed = event(1, "task.closed", &json!({ "status": task_status, "summary": "x" }));
    fake.respond(
        &format!("POST {PROFILES}/opencode/canary"),
        201,
        &json!({ "revision": 2, "tasks": [started] }),
    )
    .respond_with_events(&[closed])
    .respond(&format!("GET /v1/tasks/{TASK_ID}"), 200, &task(task_status))
    .respond(&format!("GET {PROFILES}/opencode"), 200, profile);
    fake
}

#[tokio::test]
async fn a_canary_run_prints_one_line_for_each_check_and_fails_unless_it_passed() {
    let passed = fake_canary("completed", &profile("passed", "passed")).await;
    let failed = fake_canary("failed", &profile("failed", "failed")).await;

    let ran = passed.cynork(&["agent", "canary", "opencode", "--node", "anvil"]).await;
    let refused = failed.cynork(&["agent", "canary", "opencode"]).await;
    let as_json = passed.cynork(&["-o", "json", "agent", "canary", "opencode"]).await;

    assert_eq!((ran.code, refused.code, as_json.code), (0, 1, 0), "{ran:?} {refused:?}");
    assert_eq!(passed.requests()[0].body, json!({ "node": "anvil" }));
    assert_eq!(failed.requests()[0].body, json!({}));
    assert!(ran.stdout.starts_with("anvil: passed, OpenCode"), "{}", ran.stdout);
    assert!(!ran.stdout.contains('\u{1b}'), "{}", ran.stdout);
    assert!(
        ran.stdout.contains("  ✓ starts: seen\n  ✓ tools: seen\n  – stops: seen\n"),
        "{}",
        ran.stdout
    );
    assert!(refused.stdout.contains("  ✗ tools: seen\n"), "{}", refused.stdout);
    assert_eq!(as_json.json()["nodes"][0]["canary"]["status"], "passed");
}

#[tokio::test]
async fn a_canary_run_without_a_report_of_its_task_has_not_passed() {
    let mut earlier = profile("passed", "passed");
    earlier["nodes"][0]["task_id"] = json!("00000000-0000-7000-8000-000000000009");
    let fake = fake_canary("failed", &earlier).await;

    let ran = fake.cynork(&["agent", "canary", "opencode"]).await;

    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stdout.contains("no report; see `cynork task result hello`"), "{ran:?}");
}

#[tokio::test]
async fn a_canary_run_need_not_be_waited_for() {
    let fake = fake_canary("completed", &profile("passed", "passed")).await;

    let ran = fake.cynork(&["agent", "canary", "opencode", "--no-wait"]).await;

    assert_eq!(
        (ran.code, ran.stdout.as_str(), fake.requests().len()),
        (0, "hello\n", 1),
        "{ran:?}"
    );
}

#[tokio::test]
async fn profiles_are_listed_shown_defined_changed_and_deleted() {
    let fake = ScriptedGateway::start().await;
    let (shown, one) = (profile("failed", "failed"), format!("{PROFILES}/opencode"));
    fake.respond(&format!("GET {PROFILES}"), 200, &json!([shown]))
        .respond(&format!("GET {one}"), 200, &shown)
        .respond(&format!("POST {PROFILES}"), 201, &shown)
        .respond(&format!("PUT {one}"), 200, &shown)
        .respond(&format!("DELETE {one}"), 204, "");

    let listed = fake.cynork(&["agent", "profiles"]).await;
    let got = fake.cynork(&["agent", "profiles", "get", "opencode"]).await;
    let added = fake.cynork(&[
        "agent",
        "profiles",
        "add",
        "opencode",
        "--acp",
        "opencode acp",
        "--env",
        "A=b",
    ]);
    let added = added.await;
    let updated = fake.cynork(&["agent", "profiles", "update", "opencode", "--model", "m"]).await;
    let deleted = fake.cynork(&["agent", "profiles", "delete", "opencode"]).await;

    for ran in [&listed, &got, &added, &updated, &deleted] {
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    assert!(listed.stdout.contains("failed: anvil"), "{}", listed.stdout);
    assert!(
        got.stdout.contains("✗ tools: seen") && got.stdout.contains("example.com"),
        "{}",
        got.stdout
    );
    assert!(added.stderr.contains("run `cynork agent canary opencode`"), "{}", added.stderr);
    let requests = fake.requests();
    let sent = |line: &str| {
        requests.iter().find(|request| request.line.starts_with(line)).unwrap().body.clone()
    };
    assert_eq!(sent("POST")["program"]["command"], json!(["opencode", "acp"]));
    assert_eq!(sent("POST")["program"]["env"], json!({ "A": "b" }));
    assert_eq!(sent("PUT")["program"]["model"], "m");
    assert_eq!(sent("PUT")["hosts"], json!(["example.com"]));
}

#[tokio::test]
async fn a_profile_is_read_from_a_file() {
    let fake = ScriptedGateway::start().await;
    fake.respond(&format!("POST {PROFILES}"), 201, &profile("not_run", "passed"));
    let toml = "hosts = [\"example.com\"]\n[program]\nkind = \"command\"\ncommand = [\"mini\", \"{prompt}\"]\n";
    std::fs::write(fake.path().join("mini.toml"), toml).unwrap();
    let json = json!({ "program": { "kind": "acp", "command": ["x"] } }).to_string();
    std::fs::write(fake.path().join("x.json"), json).unwrap();
    std::fs::write(fake.path().join("bad.toml"), "programm = 1\n").unwrap();

    for file in ["mini.toml", "x.json"] {
        let ran = fake.cynork(&["agent", "profiles", "add", "mini", "--file", file]).await;
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let bad = fake.cynork(&["agent", "profiles", "add", "mini", "--file", "bad.toml"]).await;

    let requests = fake.requests();
    assert_eq!(requests[0].body["program"]["command"], json!(["mini", "{prompt}"]));
    assert_eq!(requests[1].body["program"]["kind"], "acp");
    assert_eq!((bad.code, requests.len()), (6, 2), "{bad:?}");
}

#[tokio::test]
async fn a_task_names_the_agent_that_works_on_it() {
    let fake = ScriptedGateway::start().await;
    fake.respond("POST /v1/tasks", 400, &problem(400, "there is no agent \"x\"; there are: sba"));

    let ran = fake.cynork(&["task", "create", "--agent", "x", "mend it"]).await;

    assert_eq!(ran.code, 6, "{ran:?}");
    let body = &fake.requests()[0].body;
    assert_eq!((&body["input_mode"], &body["agent"]), (&json!("agent"), &json!("x")));
}
