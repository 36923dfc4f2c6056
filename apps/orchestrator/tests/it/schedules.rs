//! Schedules over HTTP and through the gateway.

use cynode_domain::policy::AgentType;
use cynode_domain::schedule::ScheduleRunStatus;
use cynode_wire::agents::BindingView;
use cynode_wire::page::PageQuery;
use cynode_wire::projects::{CreateProject, UpdateProject};
use cynode_wire::schedules::{CreateSchedule, ScheduleQuery, ScheduleRunView, UpdateSchedule};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};

use crate::harness::{OrchestratorHarness, eventually, refused};
use crate::mcp::{Mcp, issue};

fn body(fields: Value) -> CreateSchedule {
    serde_json::from_value(fields).unwrap()
}

fn build(more: &Value) -> CreateSchedule {
    let task = json!({ "input_mode": "commands", "commands": ["make"] });
    let mut fields = json!({ "name": "build", "cron": "0 3 * * *", "task": task });
    for (name, value) in more.as_object().unwrap() {
        fields[name] = value.clone();
    }
    body(fields)
}

pub(crate) async fn a_schedule_is_made_changed_fired_skipped_and_deleted(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let zone = json!({ "time_zone": "Asia/Kolkata" });

    let made = admin.schedule_create(&build(&zone)).await.unwrap();
    assert!(made.next_due_local.unwrap().ends_with("T03:00:00+05:30"));
    refused(admin.schedule_create(&build(&json!({}))).await, 409);
    let update = UpdateSchedule { every_s: Some(7200), ..UpdateSchedule::default() };
    let changed = admin.schedule_update("build", &update).await.unwrap();
    assert_eq!((changed.every_s, changed.cron), (Some(7200), None));
    let skipped = admin.schedule_skip_next("build").await.unwrap();
    let passed = skipped.next_due_at.unwrap() - changed.next_due_at.unwrap();
    assert_eq!(passed.num_seconds(), 7200);

    let fired = admin.schedule_fire("build").await.unwrap();
    let run: ScheduleRunView = eventually("the end of the run", async || {
        let page = PageQuery { limit: Some(1), cursor: None };
        let newest = admin.schedule_runs("build", &page).await.unwrap();
        assert!(newest.next_cursor.is_some(), "the skipped one is older");
        newest.items.into_iter().find(|run| run.id == fired.id && run.status.is_terminal())
    })
    .await;

    assert_eq!((run.status, run.manual), (ScheduleRunStatus::Done, true), "{run:?}");
    let task = admin.task_get(&run.tasks[0].id.to_string()).await.unwrap();
    assert_eq!((task.commands, task.task_name.as_str()), (vec!["make".to_owned()], "build"));
    admin.schedule_delete("build").await.unwrap();
    refused(admin.schedule_get("build").await, 404);
    assert!(admin.task_get("build").await.is_ok(), "tasks stay");
}

pub(crate) async fn schedules_of_others_are_not_there_and_bad_ones_are_explained(
    harness: OrchestratorHarness,
) {
    let (admin, bob) = (harness.admin(), harness.user("bob").await);
    let made = bob.schedule_create(&build(&json!({}))).await.unwrap();
    let eve = harness.user("eve").await;

    refused(eve.schedule_get(&made.id.to_string()).await, 404);
    refused(eve.schedule_fire("build").await, 404);
    assert!(eve.schedule_list(&ScheduleQuery::default()).await.unwrap().items.is_empty());
    assert_eq!(admin.schedule_list(&ScheduleQuery::default()).await.unwrap().items.len(), 1);
    for (bad, words) in [
        (json!({ "cron": "0 25 * * *" }), "five fields"),
        (json!({ "time_zone": "Mars" }), "no time zone"),
        (json!({ "cron": null, "every_s": 5 }), "allowed is 60"),
        (json!({ "cron": null, "at": "2001-01-01 00:00" }), "in the past"),
        (json!({ "prompt": "as well" }), "one of prompt, task and request"),
    ] {
        let problem = refused(bob.schedule_create(&build(&bad)).await, 400);
        assert!(problem.detail.contains(words), "{bad}: {}", problem.detail);
    }
}

pub(crate) async fn agents_reach_the_schedules_of_their_own_project_only(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let project = CreateProject {
        display_name: "Engine".to_owned(),
        description: String::new(),
        ..<_>::default()
    };
    let project = admin.project_create(&project).await.unwrap().id;
    let of = async |agent, project_id, task_id| {
        let binding = BindingView { project_id, task_id, ..BindingView::default() };
        Mcp::at(&harness.url(), &issue(&harness, agent, binding).await.secret)
    };
    let elsewhere = harness.task().await;
    let pm = of(AgentType::Pm, Some(project), None).await;
    let other = of(AgentType::Pm, Some(elsewhere.project_id), None).await;
    let analyst = of(AgentType::Pa, None, Some(elsewhere.id)).await;
    let at_a_task = of(AgentType::Pm, None, Some(elsewhere.id)).await;

    let request = json!({ "name": "report", "every_s": 3600, "prompt": "tell what changed" });
    let made = pm.call("db.schedule.create", request).await;
    let which = json!({ "schedule_id": made["id"] });

    assert_eq!(made["project_id"], json!(project), "{made}");
    assert_eq!(pm.call("db.schedule.get", which.clone()).await["name"], "report");
    assert_eq!(pm.call("db.schedule.list", json!({})).await["items"][0]["id"], made["id"]);
    assert_eq!(other.call("db.schedule.list", json!({})).await["items"], json!([]));
    assert_eq!(analyst.call("db.schedule.list", json!({})).await["items"], json!([]));
    assert_eq!(at_a_task.call("db.schedule.list", json!({})).await["items"], json!([]));
    let request = json!({ "name": "mine", "every_s": 3600, "prompt": "spread" });
    let refused = at_a_task.call("db.schedule.create", request).await;
    assert_eq!(refused["error"]["type"], "forbidden", "{refused}");
    for stranger in [&other, &analyst, &at_a_task] {
        let hidden = stranger.call("db.schedule.get", which.clone()).await;
        assert_eq!(hidden["error"]["type"], "not_found", "{hidden}");
    }
    let hidden = other.call("db.schedule.delete", which.clone()).await;
    assert_eq!(hidden["error"]["type"], "not_found");
    let pause = json!({ "schedule_id": made["id"], "enabled": false });
    assert_eq!(pm.call("db.schedule.update", pause).await["state"], "paused");
    assert_eq!(pm.call("db.schedule.runs", which.clone()).await["items"], json!([]));
    assert_eq!(pm.call("db.schedule.delete", which).await["deleted"], true);
}

pub(crate) async fn no_agent_can_say_that_a_schedule_made_its_task(harness: OrchestratorHarness) {
    let pm = Mcp::agent(&harness, AgentType::Pm).await;

    for claim in ["trigger", "schedule_run", "schedule_run_id"] {
        let mut request = json!({ "input_mode": "commands", "commands": ["true"] });
        request[claim] = "schedule".into();
        let refused = pm.answer("db.task.create", request).await;
        assert!(refused["result"]["structuredContent"]["id"].is_null(), "{claim}: {refused}");
    }
    let task = json!({ "input_mode": "commands", "commands": ["true"] });
    let refused = pm.call("db.schedule.make_tasks", json!({ "tasks": [task] })).await;
    assert_eq!(refused["error"]["type"], "forbidden", "{refused}");
    let list = pm.call("db.task.list", json!({})).await;
    assert_eq!(list["items"], json!([]));
}

pub(crate) async fn an_agent_schedules_no_work_on_the_repository_of_a_shared_project(
    harness: OrchestratorHarness,
) {
    let (admin, ada) = (harness.admin(), harness.user("ada").await);
    let group = serde_json::from_value(json!({ "name": "web-team" })).unwrap();
    admin.group_create(&group).await.unwrap();
    for user in ["ada", "admin"] {
        admin.member_add("web-team", user).await.unwrap();
    }
    let shop = CreateProject {
        display_name: "Shop".to_owned(),
        repository_url: Some("https://example.com/shop.git".to_owned()),
        ..CreateProject::default()
    };
    let shared = ada.project_create(&shop).await.unwrap().id;
    let share = UpdateProject { group: Some("web-team".to_owned()), ..UpdateProject::default() };
    ada.project_update("shop", &share).await.unwrap();
    let schedule = |name: &str, repository: Value| {
        let task = json!({
            "input_mode": "commands", "commands": ["make"], "project_repository": repository,
        });
        json!({ "name": name, "every_s": 3600, "task": task })
    };
    let elsewhere = schedule("theirs", json!({ "project": shared }));
    let pm = Mcp::agent(&harness, AgentType::Pm).await;
    let person = Mcp::at(&harness.url(), harness.secret("admin.token").expose_secret());

    let own = pm.call("db.schedule.create", schedule("own", json!({}))).await;
    let created = pm.call("db.schedule.create", elsewhere.clone()).await;
    let update = json!({ "schedule_id": own["id"], "task": elsewhere["task"] });
    let updated = pm.call("db.schedule.update", update).await;
    let by_person = person.call("db.schedule.create", elsewhere).await;

    for rejected in [created, updated] {
        assert_eq!(rejected["error"]["type"], "forbidden", "{rejected}");
        let message = rejected["error"]["message"].as_str().unwrap();
        assert!(message.contains("leave task.project_repository.project out"), "{message}");
    }
    let unchanged = pm.call("db.schedule.get", json!({ "schedule_id": own["id"] })).await;
    assert_eq!(unchanged["task"]["project_repository"], json!({}), "{unchanged}");
    assert_eq!(by_person["task"]["project_repository"]["project"], json!(shared), "{by_person}");
}
