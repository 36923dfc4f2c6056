//! Requests by tool, by schedule and in chat.

use cynode_domain::policy::AgentType;
use cynode_domain::schedule::ScheduleRunStatus;
use cynode_testkit::query;
use cynode_wire::agents::BindingView;
use cynode_wire::page::PageQuery;
use cynode_wire::requests::RequestQuery;
use cynode_wire::schedules::{CreateSchedule, ScheduleRunView};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::harness::{OrchestratorHarness, eventually, refused};
use crate::mcp::{Mcp, issue};

/// The token of a person's own client.
fn person(harness: &OrchestratorHarness) -> Mcp {
    Mcp::at(&harness.url(), harness.secret("admin.token").expose_secret())
}

fn work(text: &str) -> Value {
    json!({ "text": text, "repository": { "url": "https://git.example.com/shop.git" } })
}

/// The kind with which a call is rejected.
async fn rejection(who: &Mcp, tool: &str, arguments: Value) -> String {
    let answer = who.answer(tool, arguments).await;
    let of_protocol = &answer["error"]["data"]["error"];
    let error = if of_protocol.is_null() {
        &answer["result"]["structuredContent"]["error"]
    } else {
        of_protocol
    };
    error["type"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

/// Makes a request wait for a person, once its driver has left it.
pub(crate) async fn set_question(
    harness: &OrchestratorHarness,
    request: &str,
    kind: &str,
    text: &str,
) {
    eventually("the request waits for its first child", async || {
        let view = harness.admin().request_get(request).await.unwrap();
        (!view.steps.is_empty()).then_some(())
    })
    .await;
    let question = json!({
        "subject": { "about": "phase" },
        "question": { "kind": kind, "text": text, "about": [], "accepts": ["text", "yes", "no"] },
    });
    let sql = format!(
        "UPDATE work_requests SET question = '{question}' WHERE task_id = '{request}' RETURNING phase"
    );
    assert_eq!(query(&harness.database().url, &sql).await.len(), 1);
}

pub(crate) async fn people_and_their_manager_submit_list_show_and_answer_requests(
    harness: OrchestratorHarness,
) {
    let (person, pm) = (person(&harness), Mcp::agent(&harness, AgentType::Pm).await);

    let mine = person.call("db.request.create", work("Fix the typo in README.md")).await;
    let its = pm.call("db.request.create", work("Add a dark mode toggle")).await;
    let twice = rejection(&pm, "db.request.create", work("fix the TYPO in README.md")).await;
    let blank = rejection(&pm, "db.request.create", work("  ")).await;
    let mut forced = work("Fix the typo in README.md");
    forced["force"] = true.into();
    let forced = rejection(&pm, "db.request.create", forced).await;
    let listed = pm.call("db.request.list", json!({ "open": true })).await;
    let shown = pm.call("db.request.get", json!({ "task_id": its["id"] })).await;

    assert_eq!(
        (&mine["source"]["origin"], &its["source"]["origin"]),
        (&json!("tool"), &json!("tool"))
    );
    assert_eq!(
        (twice.as_str(), blank.as_str(), forced.as_str()),
        ("conflict", "invalid_arguments", "invalid_arguments")
    );
    let ids: Vec<&Value> =
        listed["items"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&its["id"], &mine["id"]]);
    assert_eq!(shown["text"], "Add a dark mode toggle");

    let id = its["id"].as_str().unwrap();
    set_question(&harness, id, "approval", "Approve it?").await;
    let waiting = pm.call("db.request.list", json!({ "waiting": true })).await;
    let answer = |reply: &str| json!({ "task_id": id, "reply": reply });
    // An agent approves nothing, whatever its person may have said.
    let approved = rejection(&pm, "db.request.answer", answer("yes")).await;
    let half = rejection(&person, "db.request.answer", answer("text")).await;
    let decided = person.call("db.request.answer", answer("yes")).await;
    set_question(&harness, id, "clarification", "Which colour?").await;
    let told = json!({ "task_id": id, "reply": "text", "text": "blue" });
    let told = pm.call("db.request.answer", told).await;
    let none = rejection(&pm, "db.request.answer", answer("yes")).await;

    assert_eq!(waiting["items"].as_array().unwrap().len(), 1);
    assert_eq!(
        (approved.as_str(), half.as_str(), none.as_str()),
        ("forbidden", "invalid_arguments", "conflict")
    );
    assert_eq!(decided["question"], Value::Null);
    assert_eq!(told["answers"][1]["answer"]["reply"]["text"], "blue");
}

pub(crate) async fn an_agent_of_a_task_submits_and_answers_no_request(
    harness: OrchestratorHarness,
) {
    let person = person(&harness);
    let request = person.call("db.request.create", work("Fix the typo in README.md")).await;
    let id = request["id"].as_str().unwrap();
    set_question(&harness, id, "clarification", "Which typo?").await;
    let binding = BindingView { task_id: Some(id.parse().unwrap()), ..BindingView::default() };
    let answer = json!({ "task_id": id, "reply": "text", "text": "all" });

    // The project manager while it decides about the request itself.
    let bound = issue(&harness, AgentType::Pm, binding).await.secret;
    let bound = Mcp::at(&harness.url(), &bound);
    let submitted = rejection(&bound, "db.request.create", work("And another one")).await;
    let answered = rejection(&bound, "db.request.answer", answer.clone()).await;
    let listed = bound.call("db.request.list", json!({})).await;
    let analyst = Mcp::agent(&harness, AgentType::Pa).await;
    let denied = rejection(&analyst, "db.request.create", work("And another one")).await;
    let judged = rejection(&analyst, "db.request.answer", answer).await;
    let ada = harness.user("ada").await;

    assert_eq!((submitted.as_str(), answered.as_str()), ("forbidden", "forbidden"));
    assert_eq!(listed["items"], json!([]));
    assert_eq!(
        (denied.as_str(), judged.as_str()),
        ("agent_allowlist_denied", "agent_allowlist_denied")
    );
    refused(ada.request_get(id).await, 404);
    assert_eq!(
        harness.admin().request_list(&RequestQuery::default()).await.unwrap().items.len(),
        1
    );
}

async fn fire(harness: &OrchestratorHarness, schedule: &str) -> ScheduleRunView {
    let admin = harness.admin();
    let fired = admin.schedule_fire(schedule).await.unwrap();
    eventually("the end of the run", async || {
        let page = PageQuery { limit: Some(10), cursor: None };
        let runs = admin.schedule_runs(schedule, &page).await.unwrap();
        runs.items.into_iter().find(|run| run.id == fired.id && run.status.is_terminal())
    })
    .await
}

pub(crate) async fn a_schedule_submits_a_request_unless_the_last_one_is_open(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let schedule = |more: Value| -> CreateSchedule {
        let mut fields = json!({
            "name": "deps", "every_s": 86_400, "overlap": "allow",
            "request": work("Update the dependencies"),
        });
        for (name, value) in more.as_object().unwrap() {
            fields[name] = value.clone();
        }
        serde_json::from_value(fields).unwrap()
    };
    for (bad, words) in [
        (json!({ "prompt": "as well" }), "one of prompt, task and request"),
        (json!({ "request": work(" ") }), "empty"),
    ] {
        let problem = refused(admin.schedule_create(&schedule(bad)).await, 400);
        assert!(problem.detail.contains(words), "{}", problem.detail);
    }
    let created = admin.schedule_create(&schedule(json!({}))).await.unwrap();

    let first = fire(&harness, "deps").await;
    let again = fire(&harness, "deps").await;
    admin.task_cancel(&first.tasks[0].id.to_string()).await.unwrap();
    let third = fire(&harness, "deps").await;

    assert_eq!(created.request.unwrap().text, "Update the dependencies");
    assert_eq!((first.status, first.tasks.len()), (ScheduleRunStatus::Done, 1), "{first:?}");
    assert_eq!(again.status, ScheduleRunStatus::Skipped, "{again:?}");
    assert!(again.summary.contains("deps with the same text is still open"), "{again:?}");
    assert_eq!((third.status, third.tasks.len()), (ScheduleRunStatus::Done, 1), "{third:?}");
    let request = admin.request_get(&first.tasks[0].id.to_string()).await.unwrap();
    assert_eq!(
        json!(request.source),
        json!({ "origin": "schedule", "reference": "deps", "is_brief": false })
    );
    // An agent cannot schedule requests: they would outlive its task.
    let pm = Mcp::agent(&harness, AgentType::Pm).await;
    let arguments = json!({ "name": "more", "every_s": 60, "request": work("Update them again") });
    assert_eq!(rejection(&pm, "db.schedule.create", arguments).await, "invalid_arguments");
}
