//! Access rules about repositories: clones and pushes over every interface.

use cynode_client::Client;
use cynode_domain::policy::AgentType;
use cynode_wire::changes::ChangeQuery;
use cynode_wire::git::{BUNDLE_FILE, CHANGES_FILE, PATCH_FILE, PushTask};
use cynode_wire::page::PageQuery;
use cynode_wire::requests::SubmitRequest;
use cynode_wire::rules::RuleView;
use serde_json::{Value, json};

use crate::harness::{OrchestratorHarness, eventually, refused};
use crate::mcp::Mcp;
use crate::repositories::{RepositoryJob, on_repository};

async fn add_rule(admin: &Client, effect: &str, action: &str, resource: &str) -> RuleView {
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
async fn denials(admin: &Client) -> Vec<(String, String, String)> {
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
