//! Tasks that build on the changes of other tasks: which they may name, and what their node gets.

use cynode_client::Client;
use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::policy::AgentType;
use cynode_wire::git::{
    ALL_CHANGES_FILE, ALL_PATCH_FILE, BUNDLE_FILE, CHANGES_FILE, PATCH_FILE, changes_path,
};
use cynode_wire::runs::{ForkRun, RetryRun};
use serde_json::{Value, json};

use crate::actors::{HarnessNode, registration};
use crate::harness::{OrchestratorHarness, refused};
use crate::mcp::Mcp;
use crate::repositories::{RepositoryJob, on_repository};
use crate::runs::{fail, through_a_step};

const URL: &str = "https://example.com/app.git";

fn commit(digit: &str) -> String {
    digit.repeat(40)
}

/// `changes.json` of a task named `fix`; the fields given replace the usual ones.
fn collected(fields: Value) -> Value {
    let mut changes = json!({
        "url": URL, "branch": "cynode/fix", "base": commit("a"), "head": commit("b"),
        "commits": [], "files": [], "findings": [],
    });
    let Value::Object(mut fields) = fields else { panic!("fields are an object") };
    changes.as_object_mut().unwrap().append(&mut fields);
    changes
}

/// Uploads the changes of a job.
async fn upload(at: &RepositoryJob, job: JobId, fields: Value) {
    let client = &at.node.client;
    let bundle = format!("the commits of {job}");
    client.node_put_changes(job, PATCH_FILE, "patch".into()).await.unwrap();
    client.node_put_changes(job, BUNDLE_FILE, bundle.into()).await.unwrap();
    let text = collected(fields).to_string();
    client.node_put_changes(job, CHANGES_FILE, text.into()).await.unwrap();
}

/// A task `fix` with changes, whose job is running.
async fn changed(harness: &OrchestratorHarness, user: &Client) -> RepositoryJob {
    let at = RepositoryJob::take(harness, user, json!({})).await;
    upload(&at, at.job, json!({})).await;
    at
}

pub(crate) async fn a_task_builds_on_the_newest_changes_and_its_node_gets_those_commits_only(
    harness: OrchestratorHarness,
) {
    let ada = harness.user("ada").await;
    let at = changed(&harness, &ada).await;
    let secret = json!({ "task_name": "secret" });
    let secret = ada.task_create(&on_repository(secret)).await.unwrap();
    at.runner.claim(0).await.unwrap();
    let retried = at.next_attempt(at.job, 2).await;
    upload(&at, retried, json!({ "head": commit("c") })).await;

    let fields = json!({
        "task_name": "next", "builds_on": ["fix", at.task.id, "fix"], "mark_conflicts": true,
    });
    let next = ada.task_create(&on_repository(fields)).await.unwrap();

    let expected = json!([{
        "task": at.task.id, "job": retried, "base": commit("a"), "head": commit("c"),
        "branch": "cynode/fix",
    }]);
    assert_eq!(json!(next.builds_on), expected);
    let lease = at.runner.claim(0).await.unwrap().lease;
    at.runner.dispatch(lease, 0).await.unwrap();
    let mut jobs = at.node.poll(&[retried]).await.assignments;
    let (job, client) = (jobs.remove(0), &at.node.client);
    let repository = job.repository.unwrap();
    assert_eq!(json!(repository.builds_on), expected);
    assert!(repository.mark_conflicts);
    let bundle = client.node_get_source_bundle(job.job_id, at.task.id).await.unwrap();
    assert_eq!(bundle, format!("the commits of {retried}"));
    // The job pushes nothing, and builds on no other task.
    refused(client.node_get_bundle(job.job_id).await, 404);
    for other in [secret.id, next.id, TaskId::generate()] {
        refused(client.node_get_source_bundle(job.job_id, other).await, 404);
    }
    refused(client.node_get_source_bundle(retried, at.task.id).await, 404);
    let other = at.node.other_process();
    refused(other.client.node_get_source_bundle(job.job_id, at.task.id).await, 409);
    let person = ada.clone().with_incarnation(at.node.process);
    refused(person.node_get_source_bundle(job.job_id, at.task.id).await, 401);
    let stranger = crate::repositories::able_node(&harness, "stranger").await;
    refused(stranger.client.node_get_source_bundle(job.job_id, at.task.id).await, 409);
    // An ended job gets nothing.
    at.node.end(job.job_id, 0).await.unwrap();
    refused(client.node_get_source_bundle(job.job_id, at.task.id).await, 409);
}

pub(crate) async fn changes_that_a_task_cannot_build_on_are_refused_with_a_reason(
    harness: OrchestratorHarness,
) {
    let (ada, eve) = (harness.user("ada").await, harness.user("eve").await);
    let at = RepositoryJob::take(&harness, &ada, json!({})).await;
    let create = async |user: &Client, fields: Value| {
        let mut fields = fields;
        fields["task_name"] = json!("next");
        user.task_create(&on_repository(fields)).await
    };
    let reject = async |fields: Value, reason: &str| {
        let problem = refused(create(&ada, fields).await, 400);
        assert!(format!("{problem:?}").contains(reason), "{reason}: {problem:?}");
    };
    let on_fix = json!({ "builds_on": ["fix"] });
    reject(on_fix.clone(), "has no changes yet").await;
    let finding = json!([{ "severity": "block", "rule": "secret", "path": "k", "message": "bad" }]);
    upload(&at, at.job, json!({ "findings": finding })).await;
    reject(on_fix.clone(), "must not be used: k: bad").await;
    let finding = json!([{ "severity": "review", "rule": "r", "message": "look" }]);
    upload(&at, at.job, json!({ "findings": finding })).await;
    let other =
        json!({ "builds_on": ["fix"], "repository": { "url": "https://example.com/other" } });
    reject(other, "works on another repository").await;
    reject(json!({ "builds_on": ["fix"], "repository": null }), "needs a repository").await;
    let plain = json!({ "task_name": "plain", "repository": null });
    ada.task_create(&on_repository(plain)).await.unwrap();
    reject(json!({ "builds_on": ["plain"] }), "has no repository").await;
    reject(json!({ "builds_on": vec!["fix"; 51] }), "allowed are 50").await;
    // Changes of another user do not exist, by name and by id.
    refused(create(&eve, on_fix.clone()).await, 404);
    refused(create(&eve, json!({ "builds_on": [at.task.id] })).await, 404);
    refused(create(&ada, json!({ "builds_on": ["missing"] })).await, 404);
    let mine = create(&ada, on_fix.clone()).await.unwrap();
    assert_eq!(mine.builds_on.len(), 1);
    let of_admin = create(&harness.admin(), json!({ "builds_on": [at.task.id] })).await.unwrap();
    assert_eq!(of_admin.builds_on, mine.builds_on);
    // A task that changed nothing adds nothing.
    upload(&at, at.job, json!({ "head": commit("a") })).await;
    assert_eq!(create(&ada, on_fix).await.unwrap().builds_on, []);
    let schedule = json!({ "name": "s", "every_s": 3600, "task": {
        "input_mode": "commands", "commands": ["make"], "repository": { "url": URL }, "builds_on": ["fix"],
    }});
    let problem =
        refused(ada.schedule_create(&serde_json::from_value(schedule).unwrap()).await, 400);
    assert!(format!("{problem:?}").contains("cannot have builds_on"), "{problem:?}");
}

pub(crate) async fn repeated_requests_retries_and_forks_keep_what_a_task_builds_on(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let at = changed(&harness, &admin).await;
    let keyed = json!({ "task_name": "next", "builds_on": ["fix"], "idempotency_key": "k" });
    let next = admin.task_create(&on_repository(keyed.clone())).await.unwrap();
    let lease = at.runner.claim(0).await.unwrap().lease;
    through_a_step(&at.runner, lease, JobId::generate()).await;
    fail(&at.runner, lease).await;
    // The changes may be newer, or not usable any more: the task keeps those that it was created with.
    let finding = json!([{ "severity": "block", "rule": "secret", "message": "bad" }]);
    upload(&at, at.job, json!({ "head": commit("c"), "findings": finding })).await;

    let again = admin.task_create(&on_repository(keyed.clone())).await.unwrap();
    let fork = ForkRun { sequence: 2, ..ForkRun::default() };
    let fork = admin.run_fork("next", &fork).await.unwrap().run.task_name;
    let fork = admin.task_get(&fork).await.unwrap();
    admin.run_retry("next", &RetryRun::default()).await.unwrap();
    let retried = admin.task_get("next").await.unwrap();

    assert_eq!(again.id, next.id);
    assert_ne!(fork.id, next.id);
    for task in [&again, &fork, &retried] {
        assert_eq!(task.builds_on, next.builds_on);
    }
    let mut other = keyed;
    other["builds_on"] = json!([]);
    refused(admin.task_create(&on_repository(other)).await, 409);
}

pub(crate) async fn a_task_on_a_path_runs_where_the_tasks_that_it_builds_on_ran(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let path = json!({ "url": "/srv/app" });
    let at = RepositoryJob::take(&harness, &admin, json!({ "repository": path })).await;
    upload(&at, at.job, json!({ "url": "/srv/app" })).await;
    crate::repositories::able_node(&harness, "other").await;
    let create = async |name: &str, node: Option<&str>| {
        let fields = json!({
            "task_name": name, "repository": path, "builds_on": ["fix"], "node": node,
            "idempotency_key": name,
        });
        admin.task_create(&on_repository(fields)).await.unwrap()
    };

    let next = create("next", None).await;

    assert_eq!(next.node.as_deref(), Some("anvil"));
    assert_eq!(create("next", None).await.id, next.id);
    assert_eq!(create("elsewhere", Some("other")).await.node.as_deref(), Some("other"));
}

pub(crate) async fn a_task_that_builds_on_others_waits_for_a_node_that_merges_them(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let at = changed(&harness, &admin).await;
    at.node.end(at.job, 0).await.unwrap();
    let mut older = registration("older", true);
    older.capabilities.sandbox.features.push("repositories".to_owned());
    let older = HarnessNode::join(&harness, &older).await.unwrap();
    older.poll(&[]).await;
    let fields = json!({ "task_name": "next", "builds_on": ["fix"], "node": "older" });
    admin.task_create(&on_repository(fields)).await.unwrap();
    let lease = at.runner.claim(0).await.unwrap().lease;
    at.runner.dispatch(lease, 0).await.unwrap();

    assert_eq!(older.poll(&[]).await.assignments, []);
    let reason = admin.task_get("next").await.unwrap().blocked_reason.unwrap();
    assert_eq!(reason, "waiting for node \"older\", which lacks the feature \"builds_on\"");
}

pub(crate) async fn the_diff_has_the_changes_of_the_task_or_all_of_them(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let at = changed(&harness, &admin).await;
    let client = &at.node.client;
    // A task that builds on none has one kind of changes.
    assert_eq!(admin.task_diff_all("fix").await.unwrap(), admin.task_diff("fix").await.unwrap());
    let file = |path: &str| json!([{ "path": path, "status": "added", "added": 1, "deleted": 0 }]);
    let put = async |name: &str, content: String| {
        client.node_put_changes(at.job, name, content.into()).await
    };
    let elsewhere = collected(json!({ "branch": "production" })).to_string();
    refused(put(ALL_CHANGES_FILE, elsewhere).await, 400);
    let all = collected(json!({ "start": commit("d"), "files": file("theirs") }));
    put(ALL_PATCH_FILE, "everything".to_owned()).await.unwrap();
    put(ALL_CHANGES_FILE, all.to_string()).await.unwrap();
    upload(&at, at.job, json!({ "start": commit("d"), "files": file("own") })).await;

    let (own, all) =
        (admin.task_diff("fix").await.unwrap(), admin.task_diff_all("fix").await.unwrap());

    assert_eq!((own.patch.as_str(), own.changes.files[0].path.as_str()), ("patch", "own"));
    assert_eq!((all.patch.as_str(), all.changes.files[0].path.as_str()), ("everything", "theirs"));
    assert_eq!(own.changes.start.as_ref().unwrap().as_str(), commit("d"));
    let eve = harness.user("eve").await;
    refused(eve.task_diff_all(&at.task.id.to_string()).await, 404);
    let files = admin.artifact_list("fix").await.unwrap();
    let path = changes_path(at.job, ALL_PATCH_FILE);
    assert!(files.iter().any(|file| file.path == path), "{files:?}");
    // Agents read both too.
    let pm = Mcp::agent(&harness, AgentType::Pm).await;
    let read = async |all: bool| {
        pm.call("git.diff", json!({ "task_id": at.task.id, "all": all })).await["patch"].clone()
    };
    assert_eq!([read(false).await, read(true).await], [json!("patch"), json!("everything")]);
}

pub(crate) async fn changes_of_another_profile_are_no_input_of_a_task(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    harness.task().await;
    harness.runner().claim(0).await.unwrap();
    let careful = serde_json::from_value(json!({ "name": "careful" })).unwrap();
    admin.profile_create("default", &careful).await.unwrap();
    let shop = serde_json::from_value(json!({ "display_name": "Shop" })).unwrap();
    let shop = admin.project_create(&shop).await.unwrap().id;
    // The source is in the profile, or beside it.
    let in_profile = json!({ "profile": "careful" });
    let at = RepositoryJob::take(&harness, &admin, in_profile).await;
    upload(&at, at.job, json!({})).await;
    let create = async |fields: Value| {
        let mut fields = fields;
        fields["task_name"] = json!("next");
        fields["builds_on"] = json!(["fix"]);
        admin.task_create(&on_repository(fields)).await
    };

    for foreign in [json!({}), json!({ "profile": "default" }), json!({ "project": shop })] {
        let problem = refused(create(foreign).await, 400);
        let text = format!("{problem:?}");
        assert!(text.contains("task \\\"fix\\\" belongs to another profile"), "{text}");
    }
    let same = create(json!({ "profile": "careful" })).await.unwrap();
    assert_eq!(same.builds_on.len(), 1);
    // An agent does not learn that there is such a task.
    let manager = Mcp::agent(&harness, AgentType::Pm).await;
    let body = |name: &str| {
        json!({
            "input_mode": "commands", "commands": ["make"], "builds_on": [name],
            "repository": { "url": URL },
        })
    };
    let foreign = manager.answer("db.task.create", body("fix")).await["result"].to_string();
    let unknown = manager.answer("db.task.create", body("xif")).await["result"].to_string();
    assert_eq!(foreign.replace("fix", "xif"), unknown);
}
