//! Agent profiles: who defines them, what is accepted, and tasks that name them.

use cynode_domain::policy::AgentType;
use cynode_testkit::query;
use cynode_wire::agent_profiles::UpdateAgentProfile;
use cynode_wire::agents::BindingView;
use cynode_wire::page::PageQuery;
use cynode_wire::runs::ForkRun;
use cynode_wire::tasks::{CreateTask, TaskQuery};
use reqwest::Method;
use serde_json::{Value, json};

use crate::actors::HarnessRunner;
use crate::canaries::{Canaries, dispatch_agent};
use crate::harness::{HarnessResponse, OrchestratorHarness, eventually, refused, task_request};
use crate::mcp::{Mcp, issue};
use crate::runs::{fail, through_a_step};

/// The definition of a profile.
pub(crate) fn definition(name: &str, program: &str) -> Value {
    json!({ "name": name, "program": { "kind": "acp", "command": [program, "acp"] } })
}

/// Defines a profile as the administrator.
pub(crate) async fn define(harness: &OrchestratorHarness, name: &str) {
    let body = serde_json::from_value(definition(name, "opencode")).unwrap();
    harness.admin().agent_profile_create(&body).await.unwrap();
}

/// A task for an agent.
pub(crate) fn agent_task(name: &str, agent: &str) -> CreateTask {
    let commands: [&str; 0] = [];
    task_request(json!({
        "task_name": name, "input_mode": "agent", "prompt": "mend it", "commands": commands, "agent": agent,
    }))
}

pub(crate) async fn an_administrator_defines_changes_and_deletes_profiles(
    harness: OrchestratorHarness,
) {
    let (admin, ada) = (harness.admin(), harness.user("ada").await);
    let first = admin
        .agent_profile_create(&serde_json::from_value(definition("opencode", "opencode")).unwrap())
        .await
        .unwrap();
    assert_eq!((first.revision, first.nodes.len()), (1, 0));
    define(&harness, "aider").await;
    let spec = json!({
        "description": "another", "hosts": ["*.example.com"],
        "program": { "kind": "command", "command": ["mini", "-t", "{prompt}"], "env": { "A": "b" } },
    });
    let spec: UpdateAgentProfile = serde_json::from_value(spec).unwrap();
    let second = admin.agent_profile_update("opencode", &spec).await.unwrap();
    // Another administrator read the first revision.
    let stale = UpdateAgentProfile { revision: Some(1), ..spec.clone() };
    refused(admin.agent_profile_update("opencode", &stale).await, 409);

    assert_eq!((second.revision, second.description.as_str()), (2, "another"));
    assert_eq!(second.created_at, first.created_at);
    let listed = ada.agent_profile_list().await.unwrap();
    let names: Vec<_> = listed.iter().map(|profile| profile.name.as_str()).collect();
    assert_eq!(names, ["aider", "opencode"]);
    assert_eq!(ada.agent_profile_get("opencode").await.unwrap(), second);

    admin.agent_profile_remove("opencode").await.unwrap();
    refused(admin.agent_profile_remove("opencode").await, 404);
    refused(admin.agent_profile_get("opencode").await, 404);
    refused(admin.agent_profile_update("opencode", &spec).await, 404);
    assert_eq!(ada.agent_profile_list().await.unwrap().len(), 1);
    // A later profile with the name is a new revision: no canary run of an earlier one admits it.
    define(&harness, "opencode").await;
    assert_eq!(admin.agent_profile_get("opencode").await.unwrap().revision, 3);
    let changes = HarnessResponse::send(
        harness.as_admin(Method::GET, "/v1/audit/changes?resource_type=agent_profile"),
    )
    .await;
    let items = changes.body["items"].as_array().unwrap();
    let actions: Vec<_> = items.iter().map(|change| change["action"].clone()).collect();
    let expected = ["create", "remove", "update", "create", "create"];
    assert_eq!(actions, expected.map(|verb| json!(format!("agent_profile.{verb}"))));
}

pub(crate) async fn nobody_but_an_administrator_defines_profiles(harness: OrchestratorHarness) {
    define(&harness, "opencode").await;
    let ada = harness.user("ada").await;
    let body = serde_json::from_value(definition("mine", "mine")).unwrap();
    let spec = json!({ "program": { "kind": "acp", "command": ["mine"] } });
    let spec = serde_json::from_value(spec).unwrap();

    refused(ada.agent_profile_create(&body).await, 403);
    refused(ada.agent_profile_update("opencode", &spec).await, 403);
    refused(ada.agent_profile_remove("opencode").await, 403);
    refused(
        ada.agent_canary_start("opencode", &serde_json::from_value(json!({})).unwrap()).await,
        403,
    );
    refused(harness.anonymous().agent_profile_list().await, 401);
    let node = harness.node("anvil").await;
    refused(node.client.agent_profile_create(&body).await, 401);
    let issued = issue(&harness, AgentType::Pm, BindingView::default()).await;
    let agent = Mcp::at(&harness.url(), &issued.secret);
    let path = "/v1/agent-profiles";
    let sent = HarnessResponse::send(
        harness.request(Method::POST, path).bearer_auth(&issued.secret).json(&body),
    )
    .await;
    sent.assert_problem(401);
    let unchanged = harness.admin().agent_profile_list().await.unwrap();
    assert_eq!((unchanged.len(), unchanged[0].revision), (1, 1));
    // Agents read them.
    let listed = agent.call("db.agent_profile.list", json!({})).await;
    assert_eq!(listed["items"][0]["name"], "opencode", "{listed}");
    let task = json!({ "input_mode": "agent", "prompt": "x", "agent": "opencode" });
    let made = agent.call("db.task.create", task).await;
    assert_eq!(made["agent"], "opencode", "{made}");
}

pub(crate) async fn odd_profiles_are_rejected_with_every_fault(harness: OrchestratorHarness) {
    define(&harness, "opencode").await;
    let create = async |body: Value| {
        let path = "/v1/agent-profiles";
        HarnessResponse::send(harness.as_admin(Method::POST, path).json(&body)).await
    };
    let with = |field: &str, value: Value| {
        let mut body = definition("x", "x");
        body.pointer_mut("/program").unwrap()[field] = value;
        body
    };

    let taken = create(definition("opencode", "other")).await;
    assert!(taken.assert_problem(409).contains("cynork agent profiles update opencode"));
    for name in ["sba", "Open Code", "", &"a".repeat(65)] {
        create(definition(name, "x")).await.assert_problem(400);
    }
    let key = "sk-proj-Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";
    let secret = create(with("env", json!({ "EXTRA": key, "OPENAI_BASE_URL": "http://x" }))).await;
    let detail = secret.assert_problem(400);
    assert!(
        detail.contains("looks like a secret") && detail.contains("OPENAI_BASE_URL"),
        "{detail}"
    );
    assert!(!detail.contains(key), "{detail}");
    create(with("command", json!([]))).await.assert_problem(400);
    create(with("unknown", json!(1))).await.assert_problem(400);
    create(json!({ "name": "x", "program": { "kind": "acp", "command": ["x"] }, "odd": 1 }))
        .await
        .assert_problem(400);
    let mut hosts = definition("x", "x");
    hosts["hosts"] = json!(["no host"]);
    create(hosts).await.assert_problem(400);

    assert_eq!(harness.admin().agent_profile_list().await.unwrap().len(), 1);
    assert_eq!(harness.admin().agent_profile_get("opencode").await.unwrap().revision, 1);
}

pub(crate) async fn a_task_names_a_profile_that_exists(harness: OrchestratorHarness) {
    define(&harness, "opencode").await;
    let ada = harness.user("ada").await;

    let unknown = refused(ada.task_create(&agent_task("t", "opencoed")).await, 400);
    assert!(unknown.detail.contains("there are: sba, opencode."), "{}", unknown.detail);
    let misplaced = CreateTask {
        agent: Some("opencode".to_owned()),
        ..task_request(json!({ "task_name": "t", "commands": ["true"] }))
    };
    refused(ada.task_create(&misplaced).await, 400);
    assert_eq!(ada.task_list(&TaskQuery::default()).await.unwrap().items, []);
    let built_in = ada.task_create(&agent_task("built-in", "sba")).await.unwrap();
    let named = ada.task_create(&agent_task("named", "opencode")).await.unwrap();
    assert_eq!((built_in.agent, named.agent.as_deref()), (None, Some("opencode")));
    // Another profile under the same key is another request.
    define(&harness, "aider").await;
    let keyed = |agent: &str| CreateTask {
        idempotency_key: Some("k".to_owned()),
        ..agent_task("keyed", agent)
    };
    ada.task_create(&keyed("opencode")).await.unwrap();
    refused(ada.task_create(&keyed("aider")).await, 409);
}

pub(crate) async fn forks_and_schedules_keep_the_profile(harness: OrchestratorHarness) {
    define(&harness, "opencode").await;
    let (admin, runner) = (harness.admin(), harness.runner());
    let task = admin.task_create(&agent_task("first", "opencode")).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    through_a_step(&runner, lease, cynode_domain::ids::JobId::generate()).await;
    fail(&runner, lease).await;

    let request = ForkRun { sequence: 2, ..ForkRun::default() };
    let fork = admin.run_fork(&task.task_name, &request).await.unwrap().run.task_name;
    assert_eq!(admin.task_get(&fork).await.unwrap().agent.as_deref(), Some("opencode"));

    let work = json!({ "input_mode": "agent", "prompt": "mend it", "agent": "opencode" });
    let schedule = json!({ "name": "nightly", "every_s": 3600, "task": work });
    admin.schedule_create(&serde_json::from_value(schedule).unwrap()).await.unwrap();
    admin.schedule_fire("nightly").await.unwrap();
    let made = eventually("the task is there", async || {
        let runs = admin.schedule_runs("nightly", &PageQuery::default()).await.unwrap().items;
        runs.into_iter().flat_map(|run| run.tasks).next()
    })
    .await;
    let task = admin.task_get(&made.id.to_string()).await.unwrap();
    assert_eq!(task.agent.as_deref(), Some("opencode"));
}

pub(crate) async fn a_step_whose_profile_was_deleted_fails_and_does_not_wait(
    harness: OrchestratorHarness,
) {
    let canaries = Canaries::new(harness).await;
    let (admin, runner) = (canaries.harness.admin(), canaries.harness.runner());
    let waiting = waiting_task(&canaries, &runner, "waiting").await;
    let late = admin.task_create(&agent_task("late", "opencode")).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;

    admin.agent_profile_remove("opencode").await.unwrap();

    let problem = refused(dispatch_agent(&runner, lease, 1).await, 400);
    assert!(problem.detail.contains("\"opencode\" was deleted"), "{}", problem.detail);
    assert_eq!(canaries.anvil.poll(&[]).await.assignments, []);
    let jobs = admin.task_result(&waiting).await.unwrap().jobs;
    let ended = json!(jobs[0].result.as_ref().unwrap());
    assert_eq!(json!(jobs[0].status), "failed", "{jobs:?}");
    assert!(ended.to_string().contains("was deleted"), "{ended}");
    assert_eq!(admin.task_get(&late.task_name).await.unwrap().blocked_reason, None);
}

/// A task with a job that waits for a canary run.
async fn waiting_task(canaries: &Canaries, runner: &HarnessRunner, name: &str) -> String {
    let admin = canaries.harness.admin();
    let task = admin.task_create(&agent_task(name, "opencode")).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    dispatch_agent(runner, lease, 1).await.unwrap();
    task.task_name
}

pub(crate) async fn an_unreadable_profile_breaks_nothing_else(harness: OrchestratorHarness) {
    let canaries = Canaries::new(harness).await;
    let (harness, admin) = (&canaries.harness, canaries.harness.admin());
    define(harness, "broken").await;
    canaries.pass("opencode").await;
    let sql = "UPDATE agent_profiles SET spec = '{}' WHERE name = 'broken';";
    query(&harness.database().url, sql).await;

    let listed = admin.agent_profile_list().await.unwrap();
    assert_eq!(
        listed.iter().map(|profile| profile.name.as_str()).collect::<Vec<_>>(),
        ["opencode"]
    );
    let runner = harness.runner();
    admin.task_create(&agent_task("t", "opencode")).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    let job = dispatch_agent(&runner, lease, 1).await.unwrap();
    assert_eq!(canaries.anvil.take().await, job);
    let unknown = refused(admin.task_create(&agent_task("t", "unknown")).await, 400);
    assert!(unknown.detail.contains("there are: sba, opencode."), "{}", unknown.detail);
    refused(admin.task_create(&agent_task("t", "broken")).await, 500);
    // The row itself can be deleted.
    admin.agent_profile_remove("broken").await.unwrap();
}
