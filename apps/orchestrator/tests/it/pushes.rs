//! Pushes of a task's changes: who may request them, what forbids them, and what the node gets.

use cynode_domain::policy::AgentType;
use cynode_wire::git::{BUNDLE_FILE, CHANGES_FILE, PATCH_FILE, PushTask};
use cynode_wire::tasks::{TaskQuery, TaskView};
use serde_json::{Value, json};

use crate::harness::{HarnessResponse, OrchestratorHarness, eventually, refused};
use crate::mcp::Mcp;
use crate::repositories::RepositoryJob;

/// `changes.json` of one commit, with the given findings.
fn collected(findings: &Value) -> String {
    let commit = |digit: &str| digit.repeat(40);
    json!({
        "url": "https://example.com/app.git", "branch": "cynode/fix",
        "base": commit("a"), "head": commit("b"),
        "commits": [{ "commit": commit("b"), "author": "Ada <ada@example.com>", "subject": "mend" }],
        "files": [{ "path": "x", "status": "modified", "added": 1, "deleted": 1 }],
        "findings": findings,
    })
    .to_string()
}

/// A job whose changes were uploaded with these findings.
async fn changed(
    harness: &OrchestratorHarness,
    user: &cynode_client::Client,
    findings: &Value,
) -> RepositoryJob {
    let at = RepositoryJob::take(harness, user, json!({})).await;
    upload(&at, findings).await;
    at
}

async fn upload(at: &RepositoryJob, findings: &Value) {
    let (client, job) = (&at.node.client, at.job);
    client.node_put_changes(job, PATCH_FILE, "patch".into()).await.unwrap();
    client.node_put_changes(job, BUNDLE_FILE, "the commits".into()).await.unwrap();
    client.node_put_changes(job, CHANGES_FILE, collected(findings).into()).await.unwrap();
}

fn finding(severity: &str) -> Value {
    json!([{ "severity": severity, "rule": "r", "path": "ci.yml", "message": "look at it" }])
}

pub(crate) async fn a_push_is_a_task_whose_node_gets_the_commits_and_nothing_else(
    harness: OrchestratorHarness,
) {
    let (ada, eve) = (harness.user("ada").await, harness.user("eve").await);
    let at = changed(&harness, &ada, &json!([])).await;
    refused(eve.task_push("fix", &PushTask::default()).await, 404);

    let push = ada.task_push("fix", &PushTask::default()).await.unwrap();

    assert_eq!(push.task_name, "push-fix");
    let head = "b".repeat(40);
    let shown = format!(
        "git push https://example.com/app.git {head}:refs/heads/cynode/fix # changes of task fix"
    );
    assert_eq!(push.commands, [shown]);
    assert_eq!(push.project_id, at.task.project_id);
    // The first job has a checkout, and no push.
    refused(at.node.client.node_get_bundle(at.job).await, 404);
    at.node.end(at.job, 0).await.unwrap();
    let runner = harness.runner();
    let lease = loop {
        let claimed = runner.claim(0).await.unwrap();
        if Some(claimed.run_id) == push.run_id {
            break claimed.lease;
        }
    };
    runner.dispatch(lease, 0).await.unwrap();
    let mut jobs = at.node.poll(&[]).await.assignments;
    let job = jobs.remove(0);
    let order = job.push.clone().unwrap();
    assert_eq!((order.head.as_str(), order.branch.as_str()), (head.as_str(), "cynode/fix"));
    assert_eq!((order.source_task, order.source_job), (at.task.id, at.job));
    let bundle = at.node.client.node_get_bundle(job.job_id).await.unwrap();
    assert_eq!(bundle, "the commits");
    let other = at.node.other_process();
    refused(other.client.node_get_bundle(job.job_id).await, 409);
}

pub(crate) async fn findings_forbid_a_push_or_make_it_wait_for_a_person(
    harness: OrchestratorHarness,
) {
    let ada = harness.user("ada").await;
    let at = changed(&harness, &ada, &finding("block")).await;
    let elsewhere = collected(&json!([])).replace("cynode/fix", "production");
    let put = at.node.client.node_put_changes(at.job, CHANGES_FILE, elsewhere.into()).await;
    let problem = refused(put, 400);
    assert!(format!("{problem:?}").contains("another repository or branch"), "{problem:?}");
    let problem = refused(ada.task_push("fix", &PushTask::default()).await, 409);
    assert!(problem.detail.contains("ci.yml: look at it"), "{}", problem.detail);
    assert!(named(&ada, "push-fix").await.is_none(), "no task was created");

    upload(&at, &finding("review")).await;
    let request = PushTask { branch: Some("topic".parse().unwrap()), ..PushTask::default() };
    let waiting = ada.task_push("fix", &request).await.unwrap();
    assert!(waiting.commands[0].ends_with("; needs a review: ci.yml: look at it"), "{waiting:?}");
    upload(&at, &finding("note")).await;
    let key = PushTask { idempotency_key: Some("k".to_owned()), ..PushTask::default() };
    let [first, again] =
        [ada.task_push("fix", &key).await.unwrap(), ada.task_push("fix", &key).await.unwrap()];
    assert_eq!(first.id, again.id, "one key, one push");
}

async fn named(user: &cynode_client::Client, name: &str) -> Option<TaskView> {
    let page = user.task_list(&TaskQuery::default()).await.unwrap();
    page.items.into_iter().find(|task| task.task_name == name)
}

pub(crate) async fn agents_request_pushes_only_where_a_rule_allows_it_and_people_approve_them(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let at = changed(&harness, &admin, &json!([])).await;
    let arguments = json!({ "task_id": at.task.id });
    let pm = Mcp::agent(&harness, AgentType::Pm).await;

    assert!(!pm.tools().await.contains(&"git.push".to_owned()), "no rule allows it by default");
    assert!(pm.call("git.push", arguments.clone()).await["error"].is_object());
    assert!(named(&admin, "push-fix").await.is_none());
    let rule = json!({ "subject_type": "agent", "subject_id": "pm", "resource_pattern": "git.push", "effect": "allow" });
    admin.rule_create(&serde_json::from_value(rule).unwrap()).await.unwrap();

    let is_listed = async || pm.tools().await.contains(&"git.push".to_owned()).then_some(());
    eventually("the tool is listed", is_listed).await;

    let created = pm.call("git.push", arguments).await;

    assert_eq!(created["task_name"], "push-fix", "{created}");
    let options = harness.as_admin(reqwest::Method::GET, "/v1/tasks/push-fix");
    assert_eq!(HarnessResponse::send(options).await.body["status"], "queued");
}
