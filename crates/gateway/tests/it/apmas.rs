//! Agents and the project manager, communicating through the tools.

use cynode_domain::ids::{JobId, ProjectId, TaskId};
use cynode_resources::Caller;
use serde_json::{Value, json};

use crate::harness::Harness;

/// A harness whose `sandbox` and `pa` tokens are bound to an existing task, and whose `pm` acts for
/// the same user.
async fn team() -> (Harness, TaskId) {
    let harness = Harness::new().await;
    let request = json!({ "input_mode": "commands", "commands": ["true"] });
    let made = harness.call("user", "db.task.create", request).await;
    let made = &made["result"]["structuredContent"];
    let task: TaskId = serde_json::from_value(made["id"].clone()).unwrap();
    let project: ProjectId = serde_json::from_value(made["project_id"].clone()).unwrap();
    harness.backend.tasks.lock().unwrap().insert(task, project);
    let user = harness.backend.tokens.lock().unwrap()["user"].user;
    for token in ["sandbox", "pa", "pm"] {
        harness.bind(token, |identity| {
            identity.user = user;
            identity.caller = Caller::on_behalf_of(user, "ada".to_owned(), false);
            if token != "pm" {
                identity.task = Some(task);
            }
        });
    }
    (harness, task)
}

/// Calls a tool; the call must succeed.
async fn call(harness: &Harness, token: &str, tool: &str, arguments: Value) -> Value {
    let answer = harness.call(token, tool, arguments).await;
    assert!(answer["result"]["isError"].is_null(), "{tool}: {answer}");
    answer["result"]["structuredContent"].clone()
}

fn agent_arguments(task: TaskId, role: &str, more: Value) -> Value {
    let mut arguments = more;
    arguments["task_id"] = json!(task);
    arguments["agentRole"] = json!(role);
    arguments
}

fn task_arguments(task: TaskId, more: Value) -> Value {
    let mut arguments = more;
    arguments["task_id"] = json!(task);
    arguments
}

fn pair(stage: &str, kind: &str) -> (String, String) {
    (stage.to_owned(), kind.to_owned())
}

#[tokio::test]
async fn an_agent_and_its_manager_work_through_a_plan_by_tools() {
    let (harness, task) = team().await;
    let components =
        json!([{ "name": "auth", "description": "signing in", "units": ["implementation"] }]);
    let plan = task_arguments(task, json!({ "components": components }));
    let planned = call(&harness, "pm", "apmas_create_plan", plan).await;
    assert_eq!(planned["items"][0]["status"], "assigned");

    let context = agent_arguments(task, "developer", json!({ "include": ["work", "project"] }));
    let context = call(&harness, "sandbox", "apmas_get_context", context).await;
    assert_eq!(context["work_units"][0]["work_unit_id"], "impl:auth");
    assert_eq!(context["project"]["id"], json!(task));
    let working = json!({ "status": "working", "message": "on it", "workUnitId": "impl:auth" });
    call(&harness, "sandbox", "apmas_report_status", agent_arguments(task, "developer", working))
        .await;
    let saved = json!({ "summary": "half", "completedItems": ["a"], "pendingItems": ["b"] });
    let saved =
        call(&harness, "sandbox", "apmas_checkpoint", agent_arguments(task, "developer", saved))
            .await;
    assert_eq!(saved["progress"], "1/2 (50%)");
    let work = json!({ "workUnitId": "impl:auth", "artifactPath": "src/a.rs", "summary": "done" });
    let work = agent_arguments(task, "developer", work);
    let submitted = call(&harness, "sandbox", "apmas_submit_work", work.clone()).await;
    assert_eq!(submitted["work_unit"]["status"], "submitted");

    let back = json!({ "workUnitId": "impl:auth", "decision": "revision", "feedback": "shorter" });
    call(&harness, "pm", "apmas_route_work", task_arguments(task, back)).await;
    let beat = agent_arguments(task, "developer", json!({ "status": "writing" }));
    let beat = call(&harness, "sandbox", "apmas_heartbeat", beat).await;
    assert_eq!(beat["instructions"][0]["context"]["feedback"], "shorter");
    call(&harness, "sandbox", "apmas_submit_work", work).await;
    let good = task_arguments(task, json!({ "workUnitId": "impl:auth", "decision": "approve" }));
    let routed = call(&harness, "pm", "apmas_route_work", good).await;

    assert_eq!(routed["plan_completed"], true);
    let status =
        call(&harness, "pa", "apmas_get_work_status", task_arguments(task, json!({}))).await;
    assert_eq!(status["progress_percent"], 100);
    let unit = task_arguments(task, json!({ "work_unit_id": "impl:auth" }));
    let unit = call(&harness, "pm", "db.work_unit.get", unit).await;
    assert_eq!((&unit["status"], &unit["revision_count"]), (&json!("completed"), &json!(1)));
    let listed = task_arguments(task, json!({ "filter": "completed" }));
    let listed = call(&harness, "pm", "db.work_unit.list", listed).await;
    assert_eq!(listed["items"].as_array().unwrap().len(), 1);
    let done = json!({ "summary": "all of it", "artifacts": ["src/a.rs"] });
    let done =
        call(&harness, "sandbox", "apmas_complete", agent_arguments(task, "developer", done)).await;
    assert_eq!(done["agent_status"], "completed");
}

#[tokio::test]
async fn what_agents_say_reaches_the_manager_and_is_worked_through_once() {
    let (harness, task) = team().await;
    let report = json!({
        "messageType": "work_completed", "component": "auth",
        "payload": { "summary": "added a toggle", "filesModified": ["a.rs"] },
    });
    let report = agent_arguments(task, "developer", report);
    let said = call(&harness, "sandbox", "apmas_report_to_pm", report.clone()).await;
    let again = call(&harness, "sandbox", "apmas_report_to_pm", report).await;
    let note = json!({ "to": "pm", "type": "question", "content": "by the way" });
    call(&harness, "sandbox", "apmas_send_message", agent_arguments(task, "developer", note)).await;
    let help = json!({ "helpType": "pm_decision", "issue": "blue or green?" });
    call(&harness, "sandbox", "apmas_request_help", agent_arguments(task, "developer", help)).await;

    assert_eq!((&again["message_id"], &again["repeated"]), (&said["message_id"], &json!(true)));
    let waiting =
        task_arguments(task, json!({ "unprocessed": true, "oldest_first": true, "limit": 2 }));
    let page = call(&harness, "pm", "db.message.list", waiting.clone()).await;
    assert_eq!(page["items"][0]["type"], "work_completed");
    let mut rest = waiting;
    rest["cursor"] = page["next_cursor"].clone();
    let rest = call(&harness, "pm", "db.message.list", rest).await;
    assert_eq!(rest["items"].as_array().unwrap().len(), 1);
    let one = task_arguments(task, json!({ "message_id": said["message_id"] }));
    let marked = call(&harness, "pm", "db.message.mark_processed", one.clone()).await;
    let read = call(&harness, "pa", "db.message.get", one).await;
    assert_eq!(marked["processed_at"], read["processed_at"]);
    let left = call(&harness, "pm", "db.message.list", json!({ "unprocessed": true })).await;
    assert_eq!(left["items"].as_array().unwrap().len(), 2, "of all tasks of the user");
}

#[tokio::test]
async fn an_instruction_reaches_the_agent_with_the_reply_to_whatever_it_says() {
    let (harness, task) = team().await;
    let beat = || agent_arguments(task, "developer", json!({ "status": "working" }));
    call(&harness, "sandbox", "apmas_heartbeat", beat()).await;
    let pause = json!({
        "toAgent": "developer", "instructionType": "pause", "instructions": "wait",
        "context": { "until": "noon" },
    });
    let given = call(&harness, "pm", "apmas_pm_instruct", task_arguments(task, pause)).await;
    let note = json!({ "to": "pm", "type": "info", "content": "by the way" });

    let note =
        call(&harness, "sandbox", "apmas_send_message", agent_arguments(task, "developer", note))
            .await;
    let later = call(&harness, "sandbox", "apmas_heartbeat", beat()).await;

    assert_eq!(note["instructions"][0]["id"], given["id"]);
    assert_eq!(note["instructions"][0]["context"]["until"], "noon");
    assert_eq!((&later["agent_status"], &later["instructions"]), (&json!("paused"), &json!([])));
    for (kind, status) in [
        ("continue", "running"),
        ("revise", "running"),
        ("expand_scope", "running"),
        ("reduce_scope", "running"),
        ("abort", "aborted"),
    ] {
        let words = format!("{kind}, please");
        let instruct =
            json!({ "toAgent": "developer", "instructionType": kind, "instructions": words });
        let given = call(&harness, "pm", "apmas_pm_instruct", task_arguments(task, instruct)).await;
        let heard = call(&harness, "sandbox", "apmas_heartbeat", beat()).await;
        let instruction = &heard["instructions"][0];
        assert_eq!(instruction["id"], given["id"], "{kind}: {heard}");
        assert_eq!(instruction["instruction_type"], kind, "{heard}");
        assert_eq!(instruction["instructions"], words, "{heard}");
        assert_eq!(heard["agent_status"], status, "{kind}: {heard}");
    }
}

#[tokio::test]
async fn each_side_calls_its_own_tools_only() {
    let (harness, task) = team().await;
    let beat = agent_arguments(task, "developer", json!({ "status": "working" }));
    let instruct =
        json!({ "toAgent": "developer", "instructionType": "abort", "instructions": "x" });
    let route = json!({ "workUnitId": "impl:auth", "decision": "approve" });
    let plan = json!({ "components": [{ "name": "a", "description": "a" }] });
    let complete = json!({ "summary": "s", "artifacts": [] });
    for (token, tool, arguments, stage) in [
        ("sandbox", "apmas_pm_instruct", task_arguments(task, instruct.clone()), "allowlist"),
        ("sandbox", "apmas_route_work", task_arguments(task, route.clone()), "allowlist"),
        ("sandbox", "apmas_create_plan", task_arguments(task, plan.clone()), "allowlist"),
        ("sandbox", "apmas_get_work_status", task_arguments(task, json!({})), "allowlist"),
        ("sandbox", "db.message.list", json!({}), "allowlist"),
        ("pa", "apmas_pm_instruct", task_arguments(task, instruct), "allowlist"),
        ("pa", "apmas_route_work", task_arguments(task, route), "allowlist"),
        ("pa", "apmas_create_plan", task_arguments(task, plan), "allowlist"),
        ("pa", "apmas_submit_work", task_arguments(task, json!({})), "allowlist"),
        ("pa", "db.message.mark_processed", task_arguments(task, json!({})), "allowlist"),
        ("pm", "apmas_heartbeat", beat, "allowlist"),
        ("pm", "apmas_report_to_pm", task_arguments(task, json!({})), "allowlist"),
        ("user", "apmas_complete", agent_arguments(task, "developer", complete), "scope"),
    ] {
        let refused = harness.refusal(token, tool, arguments).await;
        assert_eq!(refused.0, stage, "{token} {tool}");
    }
}

#[tokio::test]
async fn agents_are_refused_in_words_when_they_speak_out_of_turn() {
    let (harness, task) = team().await;
    let beat = |task, role: &str| agent_arguments(task, role, json!({ "status": "working" }));
    call(&harness, "sandbox", "apmas_heartbeat", beat(task, "developer")).await;
    let to_other = json!({ "to": "reviewer", "type": "info", "content": "psst" });
    let bad_payload = json!({
        "messageType": "tests_passed", "component": "auth",
        "payload": { "total": 2, "passed": 1, "failed": 1 },
    });
    let unknown = json!({ "messageType": "gossip", "component": "auth", "payload": {} });
    let foreign = json!({ "workUnitId": "spec:auth", "artifactPath": "a", "summary": "s" });
    let long = json!({ "to": "pm", "type": "info", "content": "x".repeat(20_000) });
    for (tool, arguments, expected) in [
        ("apmas_heartbeat", json!({ "status": "working" }), pair("arguments", "invalid_arguments")),
        (
            "apmas_heartbeat",
            beat(TaskId::generate(), "developer"),
            pair("context", "context_mismatch"),
        ),
        ("apmas_heartbeat", beat(task, "tester"), pair("invoke", "forbidden")),
        ("apmas_heartbeat", beat(task, "pm"), pair("invoke", "invalid_arguments")),
        ("apmas_get_context", task_arguments(task, json!({})), pair("invoke", "invalid_arguments")),
        (
            "apmas_send_message",
            agent_arguments(task, "developer", to_other),
            pair("invoke", "forbidden"),
        ),
        (
            "apmas_send_message",
            agent_arguments(task, "developer", long),
            pair("arguments", "invalid_arguments"),
        ),
        (
            "apmas_report_to_pm",
            agent_arguments(task, "developer", bad_payload),
            pair("invoke", "invalid_arguments"),
        ),
        (
            "apmas_report_to_pm",
            agent_arguments(task, "developer", unknown),
            pair("arguments", "invalid_arguments"),
        ),
        (
            "apmas_submit_work",
            agent_arguments(task, "developer", foreign),
            pair("invoke", "not_found"),
        ),
    ] {
        assert_eq!(harness.refusal("sandbox", tool, arguments).await, expected, "{tool}");
    }
    let second = harness.refusal("pa", "apmas_heartbeat", beat(task, "developer")).await;
    assert_eq!(second, pair("invoke", "conflict"), "the role is taken");
    let nobody = json!({ "toAgent": "nobody", "instructionType": "pause", "instructions": "x" });
    let nobody = harness.refusal("pm", "apmas_pm_instruct", task_arguments(task, nobody)).await;
    assert_eq!(nobody, pair("invoke", "not_found"));
}

#[tokio::test]
async fn an_agent_in_a_job_that_is_gone_leaves_its_role_to_the_next() {
    let (harness, task) = team().await;
    let beat = || agent_arguments(task, "developer", json!({ "status": "working" }));
    harness.bind("sandbox", |identity| identity.job = Some(JobId::generate()));
    call(&harness, "sandbox", "apmas_heartbeat", beat()).await;

    let next = call(&harness, "pa", "apmas_heartbeat", beat()).await;
    let late = harness.refusal("sandbox", "apmas_heartbeat", beat()).await;

    assert_eq!(next["agent_status"], "running");
    assert_eq!(late, pair("invoke", "conflict"));
}

/// The instructions in `_meta` of a response, and its last text.
fn carried(answer: &Value) -> (Vec<String>, String) {
    let items = &answer["result"]["_meta"]["cynode/instructions"]["items"];
    let ids = items.as_array().into_iter().flatten().map(|item| item["id"].as_str().unwrap());
    let content = answer["result"]["content"].as_array().cloned().unwrap_or_default();
    let last = content.last().and_then(|item| item["text"].as_str()).unwrap_or_default();
    (ids.map(str::to_owned).collect(), last.to_owned())
}

#[tokio::test]
async fn every_tool_reply_to_an_agent_of_a_job_carries_its_instructions() {
    let (harness, task) = team().await;
    let job = JobId::generate();
    harness.bind("sandbox", |identity| identity.job = Some(job));
    harness.backend.jobs.lock().unwrap().insert(job, task);
    let beat = agent_arguments(task, "developer", json!({ "status": "working" }));
    call(&harness, "sandbox", "apmas_heartbeat", beat).await;
    let instruct = |kind: &str| json!({ "toAgent": "developer", "instructionType": kind, "instructions": "in blue" });
    let mut sent = vec![];
    for kind in ["revise", "reduce_scope"] {
        let given = task_arguments(task, instruct(kind));
        let given = call(&harness, "pm", "apmas_pm_instruct", given).await;
        sent.push(given["id"].as_str().unwrap().to_owned());
    }
    let read = task_arguments(task, json!({ "job_id": job }));

    let of_pm = harness.call("pm", "db.task.get", task_arguments(task, json!({}))).await;
    assert_eq!(carried(&of_pm).0, Vec::<String>::new(), "not for others: {of_pm}");
    let unknown = harness.call("sandbox", "no.such.tool", json!({})).await;
    assert!(unknown["error"].is_object(), "a protocol error carries nothing: {unknown}");
    // Also a denied call has a result.
    let denied = harness.call("sandbox", "db.task.get", read.clone()).await;
    let (ids, text) = carried(&denied);
    assert_eq!(ids, sent, "{denied}");
    assert!(denied["result"]["isError"] == true, "{denied}");
    assert!(text.starts_with("----- BEGIN INSTRUCTIONS") && text.contains("in blue"), "{text}");
    let next = harness.call("sandbox", "memory.list", read).await;
    assert_eq!(carried(&next).0, Vec::<String>::new(), "once: {next}");

    let given = task_arguments(task, instruct("continue"));
    let given = call(&harness, "pm", "apmas_pm_instruct", given).await;
    let note = task_arguments(task, json!({ "job_id": job }));
    let listed = harness.call("sandbox", "memory.list", note).await;
    assert_eq!(carried(&listed).0, [given["id"].as_str().unwrap()], "{listed}");
    let content = listed["result"]["content"].as_array().unwrap();
    assert_eq!(content.len(), 2, "the result of the tool is first: {listed}");
    assert!(listed["result"]["structuredContent"].is_object(), "{listed}");
}
