//! Access rules about repositories: clones and pushes over every interface.

use cynode_client::Client;
use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::policy::AgentType;
use cynode_wire::changes::ChangeQuery;
use cynode_wire::git::{BUNDLE_FILE, CHANGES_FILE, PATCH_FILE, PushTask};
use cynode_wire::page::PageQuery;
use cynode_wire::requests::SubmitRequest;
use cynode_wire::rules::RuleView;
use cynode_wire::runs::ForkRun;
use serde_json::{Value, json};

use crate::harness::{OrchestratorHarness, eventually, refused};
use crate::mcp::Mcp;
use crate::repositories::{RepositoryJob, able_node, on_repository};
use crate::runs::{fail, through_a_step};
use crate::sandboxes::work;

pub(crate) async fn add_rule(
    admin: &Client,
    effect: &str,
    action: &str,
    resource: &str,
) -> RuleView {
    let rule = json!({
        "subject_type": "system", "effect": effect, "action": action,
        "resource_type": "git.repository", "resource_pattern": resource,
    });
    admin.rule_create(&serde_json::from_value(rule).unwrap()).await.unwrap()
}

/// A job whose changes were collected without findings.
async fn changed(harness: &OrchestratorHarness, user: &Client) -> RepositoryJob {
    let at = RepositoryJob::take(harness, user, json!({})).await;
    let commit = |digit: &str| digit.repeat(40);
    let collected = json!({
        "url": "https://example.com/app.git", "branch": "cynode/fix",
        "base": commit("a"), "head": commit("b"), "commits": [], "files": [], "findings": [],
    });
    let (client, job) = (&at.node.client, at.job);
    client.node_put_changes(job, PATCH_FILE, "patch".into()).await.unwrap();
    client.node_put_changes(job, BUNDLE_FILE, "the commits".into()).await.unwrap();
    client.node_put_changes(job, CHANGES_FILE, collected.to_string().into()).await.unwrap();
    at
}

/// The denials in the access log, the newest first: action, resource and reason.
pub(crate) async fn denials(admin: &Client) -> Vec<(String, String, String)> {
    let query = ChangeQuery::for_resource_type("git.repository", PageQuery::default());
    let page = admin.access_changes(&query).await.unwrap();
    let rows: Vec<Value> = page.items.iter().map(|item| json!(item)).collect();
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    rows.iter()
        .map(|row| (text(row, "action"), text(row, "resource"), text(row, "reason")))
        .collect()
}

pub(crate) async fn a_rule_allows_clone_and_denies_push_on_one_host(harness: OrchestratorHarness) {
    let (admin, ada) = (harness.admin(), harness.user("ada").await);
    let at = changed(&harness, &admin).await;
    // Without further rules everything works as before, and this push waits for its job.
    let early = PushTask { task_name: Some("early".to_owned()), ..PushTask::default() };
    let early = admin.task_push("fix", &early).await.unwrap();
    at.node.end(at.job, 0).await.unwrap();
    let pm = Mcp::agent(&harness, AgentType::Pm).await;
    let tool = json!({ "subject_type": "agent", "subject_id": "pm", "resource_pattern": "git.push", "effect": "allow" });
    admin.rule_create(&serde_json::from_value(tool).unwrap()).await.unwrap();

    let rule = add_rule(&admin, "deny", "git.push", "example.com/*").await;

    let why = format!("rule {} denies git.push in example.com/app", rule.id);
    let problem = refused(admin.task_push("fix", &PushTask::default()).await, 403);
    assert!(problem.detail.contains(&why), "{problem:?}");
    let is_listed = async || pm.tools().await.contains(&"git.push".to_owned()).then_some(());
    eventually("the tool is listed", is_listed).await;
    let answer = pm.answer("git.push", json!({ "task_id": at.task.id })).await;
    assert!(answer.to_string().contains(&why), "{answer}");
    // A push that was requested before the rule is denied before its job.
    let runner = harness.runner();
    let lease = loop {
        let claimed = runner.claim(0).await.unwrap();
        if Some(claimed.run_id) == early.run_id {
            break claimed.lease;
        }
    };
    let problem = refused(runner.dispatch(lease, 0).await, 403);
    assert!(problem.detail.contains(&why), "{problem:?}");
    assert!(at.node.poll(&[]).await.assignments.is_empty());
    let denied = denials(&admin).await;
    let reason = format!("denied by rule {}", rule.id);
    let row = ("git.push".to_owned(), "example.com/app".to_owned(), reason);
    assert_eq!(denied, vec![row; 3]);

    // Clones there, and pushes elsewhere, are as before.
    let another = json!({ "task_name": "another" });
    ada.task_create(&on_repository(another)).await.unwrap();
    admin.rule_remove(rule.id).await.unwrap();
    admin.task_push("fix", &PushTask::default()).await.unwrap();
}

pub(crate) async fn a_denied_clone_creates_no_task_and_no_request_and_starts_no_job(
    harness: OrchestratorHarness,
) {
    let (admin, ada) = (harness.admin(), harness.user("ada").await);
    let runner = harness.runner();
    ada.task_create(&on_repository(json!({ "task_name": "early" }))).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;

    let rule = add_rule(&admin, "deny", "git.clone", "Example.com/*").await;

    let why = format!("rule {} denies git.clone in example.com/app", rule.id);
    // Neither another transport nor another spelling is another repository.
    for url in [
        "https://example.com/app.git",
        "ssh://git@example.com/./app",
        "git@EXAMPLE.com:app.git",
        "https://example.com/a%70p",
    ] {
        let body = on_repository(json!({ "repository": { "url": url } }));
        let problem = refused(ada.task_create(&body).await, 403);
        assert!(problem.detail.contains(&why), "{url}: {problem:?}");
        let work = json!({ "text": "Add a page", "repository": { "url": url }, "force": true });
        let work: SubmitRequest = serde_json::from_value(work).unwrap();
        refused(ada.request_submit(&work).await, 403);
    }
    refused(runner.dispatch(lease, 0).await, 403);
    assert_eq!(denials(&admin).await.len(), 9);
    let elsewhere =
        json!({ "task_name": "else", "repository": { "url": "https://other.example/app" } });
    ada.task_create(&on_repository(elsewhere)).await.unwrap();
}

pub(crate) async fn without_the_default_rules_repositories_need_one(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let rules = admin.rule_list().await.unwrap();
    let about = rules.iter().filter(|rule| rule.resource_type.as_str() == "git.repository");
    let about: Vec<_> = about.collect();
    let mut actions: Vec<_> = about.iter().map(|rule| rule.action.as_str()).collect();
    actions.sort_unstable();
    assert_eq!(actions, ["git.clone", "git.push"]);
    for rule in about {
        admin.rule_remove(rule.id).await.unwrap();
    }

    let problem = refused(admin.task_create(&on_repository(json!({}))).await, 403);
    let next = "cynork rules add allow 'example.com/app' --action git.clone";
    assert!(problem.detail.contains(next), "{problem:?}");
    add_rule(&admin, "allow", "git.clone", "example.com/app").await;
    admin.task_create(&on_repository(json!({}))).await.unwrap();
}

/// Why an agent gets no sandbox on a task, which has no job.
async fn refused_sandbox(harness: &OrchestratorHarness, manager: &Mcp, task: TaskId) -> String {
    let answer = manager.answer("sandbox.create", json!({ "task_id": task })).await;
    let jobs = harness.admin().task_result(&task.to_string()).await.unwrap().jobs;
    assert!(jobs.is_empty(), "{answer}: {jobs:?}");
    answer.to_string()
}

pub(crate) async fn a_clone_that_is_denied_after_its_task_was_created_is_made_by_no_sandbox_and_no_fork(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let manager = Mcp::agent(&harness, AgentType::Pm).await;
    admin.task_create(&on_repository(json!({ "task_name": "old" }))).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    through_a_step(&runner, lease, JobId::generate()).await;
    fail(&runner, lease).await;
    let fork = async |key: &str| {
        let key = Some(key.to_owned());
        let request = ForkRun { sequence: 2, idempotency_key: key, ..ForkRun::default() };
        admin.run_fork("old", &request).await
    };
    let forked = fork("k").await.unwrap().run.task_name;
    let forked_task = admin.task_get(&forked).await.unwrap().id;
    let waiting = on_repository(json!({ "task_name": "waiting", "approve_plan": true }));
    let waiting = admin.task_create(&waiting).await.unwrap().id;

    let rule = add_rule(&admin, "deny", "git.clone", "example.com/*").await;

    let why = format!("rule {} denies git.clone in example.com/app", rule.id);
    for task in [waiting, forked_task] {
        let answer = refused_sandbox(&harness, &manager, task).await;
        assert!(answer.contains(&why), "{answer}");
    }
    let problem = refused(fork("another").await, 403);
    assert!(problem.detail.contains(&why), "{problem:?}");
    let reason = format!("denied by rule {}", rule.id);
    let row = ("git.clone".to_owned(), "example.com/app".to_owned(), reason);
    assert_eq!(denials(&admin).await, vec![row; 3]);
    let again = fork("k").await.unwrap();
    assert_eq!(again.run.task_name, forked, "a repeated request returns its task");
}

pub(crate) async fn a_rule_about_a_task_stops_its_sandboxes_and_no_others(
    harness: OrchestratorHarness,
) {
    let (admin, node) = (harness.admin(), able_node(&harness, "anvil").await);
    let manager = Mcp::agent(&harness, AgentType::Pm).await;
    let create = async |name: &str| {
        let body = on_repository(json!({ "task_name": name }));
        admin.task_create(&body).await.unwrap().id
    };
    let (denied, other) = (create("denied").await, create("other").await);
    let rule = json!({
        "subject_type": "task", "subject_id": denied, "effect": "deny", "action": "git.clone",
        "resource_type": "git.repository", "resource_pattern": "*",
    });
    let rule = admin.rule_create(&serde_json::from_value(rule).unwrap()).await.unwrap();

    let answer = refused_sandbox(&harness, &manager, denied).await;
    let open = manager.call("sandbox.create", json!({ "task_id": other }));
    let (opened, job) = tokio::join!(open, work(&node));

    assert!(answer.contains(&format!("rule {} denies git.clone", rule.id)), "{answer}");
    assert_eq!((&opened["status"], job.task_id), (&json!("ready"), other), "{opened:#}");
    assert_eq!(denials(&admin).await.len(), 1);
}
