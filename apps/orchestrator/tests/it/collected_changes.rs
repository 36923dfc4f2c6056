//! The changes that worker nodes collect in the repository of a task: uploads, diffs, storage.

use cynode_client::Client;
use cynode_domain::ids::TaskId;
use cynode_domain::policy::AgentType;
use cynode_domain::verdict::VerdictStatus;
use cynode_wire::agents::BindingView;
use cynode_wire::artifacts::ArtifactKind;
use cynode_wire::git::{BUNDLE_FILE, CHANGES_FILE, PATCH_FILE, TaskDiffView, changes_path};
use cynode_wire::workflow::Outcome;
use serde_json::{Value, json};

use crate::harness::{OrchestratorHarness, refused, task_request};
use crate::mcp::{Mcp, issue};
use crate::repositories::{RepositoryJob, able_node, collected, on_repository};
use crate::storage::{all_files, recount, sums};

const PATCH: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n";

pub(crate) async fn a_node_uploads_what_it_collected_and_the_task_shows_it(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let at = RepositoryJob::take(&harness, &admin, json!({})).await;
    let (job, client) = (at.job, &at.node.client);
    let problem = refused(admin.task_diff("fix").await, 404);
    assert!(problem.detail.starts_with("task \"fix\" has no changes yet"), "{}", problem.detail);
    client.node_put_artifact(job, PATCH_FILE, "forged".into()).await.unwrap();
    client.node_put_artifact(job, CHANGES_FILE, collected("forged").into()).await.unwrap();
    let own_path = changes_path(job, CHANGES_FILE);
    client.node_put_artifact(job, &own_path, collected("forged").into()).await.unwrap();
    refused(admin.task_diff("fix").await, 404);

    let stored = client.node_put_changes(job, PATCH_FILE, PATCH.into()).await.unwrap();
    client.node_put_changes(job, PATCH_FILE, PATCH.into()).await.unwrap();
    refused(admin.task_diff("fix").await, 404);
    at.upload(job, PATCH.as_bytes(), "x").await;

    assert_eq!((stored.kind.as_str(), stored.job_id), ("changes", Some(job)));
    let diff = admin.task_diff("fix").await.unwrap();
    assert_eq!((diff.job_id, diff.patch.as_str(), diff.is_truncated), (job, PATCH, false));
    assert_eq!(diff.changes, serde_json::from_str(&collected("x")).unwrap());
    let listed = admin.artifact_list("fix").await.unwrap();
    let listed: Vec<_> = listed.iter().map(|file| (&*file.kind, &*file.path)).collect();
    let of_job = |file| changes_path(job, file);
    let expected = [
        ("changes", &*of_job(BUNDLE_FILE)),
        ("changes", &*of_job(CHANGES_FILE)),
        ("changes", &*of_job(PATCH_FILE)),
        ("output", &*own_path),
        ("output", CHANGES_FILE),
        ("output", PATCH_FILE),
    ];
    assert_eq!(listed, expected);
    // Without a kind, the file of the node comes before that of the job.
    let content = async |kind: Option<ArtifactKind>, path: &str| match kind {
        Some(kind) => admin.artifact_content_of_kind("fix", kind, path).await.unwrap(),
        None => admin.artifact_content("fix", path).await.unwrap(),
    };
    assert_eq!(content(None, &own_path).await, collected("x").as_bytes());
    assert_eq!(
        content(Some(ArtifactKind::Output), &own_path).await,
        collected("forged").as_bytes()
    );
    assert_eq!(content(None, PATCH_FILE).await, "forged".as_bytes());
    at.node.end(job, 0).await.unwrap();
}

pub(crate) async fn changes_are_accepted_from_the_process_that_holds_the_open_job_only(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let at = RepositoryJob::take(&harness, &admin, json!({})).await;
    let stranger = able_node(&harness, "stranger").await;
    let put = async |client: &Client| client.node_put_changes(at.job, PATCH_FILE, "x".into()).await;

    refused(put(&stranger.client).await, 409);
    refused(put(&stranger.client.clone().with_incarnation(at.node.process)).await, 409);
    refused(put(&at.node.other_process().client).await, 409);
    for other in [&admin, &at.runner.client] {
        refused(put(&other.clone().with_incarnation(at.node.process)).await, 401);
    }
    for file in ["x", "changes.json.x", "../changes.json", "a/changes.json", "CHANGES.JSON"] {
        let sent = at.node.client.node_put_changes(at.job, file, "x".into()).await;
        let problem = refused(sent, 400);
        let files = "changes.json, changes.patch, changes.bundle, all.json, all.patch";
        assert!(problem.detail.ends_with(files), "{file}");
    }
    for text in ["", "{}", "[]", "no json"] {
        let sent = at.node.client.node_put_changes(at.job, CHANGES_FILE, text.into()).await;
        let problem = refused(sent, 400);
        assert!(problem.detail.starts_with("changes.json cannot be read"), "{problem:?}");
    }
    at.node.end(at.job, 0).await.unwrap();
    refused(put(&at.node.client).await, 409);

    assert_eq!(admin.artifact_list(at.name()).await.unwrap(), []);
}

pub(crate) async fn a_job_without_a_repository_has_no_changes(harness: OrchestratorHarness) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let node = able_node(&harness, "anvil").await;
    let task = harness.task().await.task_name;
    let lease = runner.claim(0).await.unwrap().lease;
    runner.dispatch(lease, 0).await.unwrap();
    let job = node.take().await;

    for file in [PATCH_FILE, CHANGES_FILE, BUNDLE_FILE] {
        let sent = node.client.node_put_changes(job, file, collected("x").into()).await;
        let problem = refused(sent, 400);
        assert!(problem.detail.contains("has no repository"), "{problem:?}");
    }

    let problem = refused(admin.task_diff(&task).await, 404);
    assert!(problem.detail.contains("`cynork task create --repo URL`"), "{problem:?}");
    assert_eq!(admin.artifact_list(&task).await.unwrap(), []);
    node.end(job, 0).await.unwrap();
}

pub(crate) async fn changes_of_another_user_are_not_there(harness: OrchestratorHarness) {
    let (ada, eve) = (harness.user("ada").await, harness.user("eve").await);
    let at = RepositoryJob::take(&harness, &ada, json!({})).await;
    at.upload(at.job, PATCH.as_bytes(), "x").await;
    // A task of the same name does not lead to it.
    eve.task_create(&on_repository(json!({}))).await.unwrap();
    let (id, path) = (at.task.id.to_string(), changes_path(at.job, PATCH_FILE));

    refused(eve.task_diff(&id).await, 404);
    let problem = refused(eve.task_diff("fix").await, 404);
    assert!(problem.detail.contains("has no changes yet"), "{problem:?}");
    refused(eve.artifact_content_of_kind(&id, ArtifactKind::Changes, &path).await, 404);
    refused(eve.artifact_content_of_kind("fix", ArtifactKind::Changes, &path).await, 404);
    refused(harness.anonymous().task_diff(&id).await, 401);
    refused(at.node.client.task_diff(&id).await, 401);
    assert_eq!(ada.task_diff("fix").await.unwrap().job_id, at.job);
    assert_eq!(harness.admin().task_diff(&id).await.unwrap().job_id, at.job);
    at.node.end(at.job, 0).await.unwrap();
}

pub(crate) async fn collected_changes_meet_no_criterion_about_files(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let criterion = json!({ "kind": "file_exists", "path": PATCH_FILE });
    let fields = json!({ "acceptance_criteria": [criterion], "max_attempts": 2 });
    let at = RepositoryJob::take(&harness, &admin, fields).await;
    at.upload(at.job, PATCH.as_bytes(), "x").await;
    at.node.end(at.job, 0).await.unwrap();

    let verdict = at.runner.verify(at.lease, at.job).await.unwrap();
    at.runner.dispatch_attempt(at.lease, 0, 2).await.unwrap();
    let second = at.node.take().await;
    at.node.client.node_put_artifact(second, PATCH_FILE, "own".into()).await.unwrap();
    at.node.end(second, 0).await.unwrap();
    let of_output = at.runner.verify(at.lease, second).await.unwrap();

    assert_eq!(verdict.status, VerdictStatus::Fail, "{verdict:?}");
    assert_eq!(of_output.status, VerdictStatus::Pass, "{of_output:?}");
}

pub(crate) async fn the_diff_is_that_of_the_newest_job_with_a_complete_set(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let at = RepositoryJob::take(&harness, &admin, json!({ "max_attempts": 4 })).await;
    at.upload(at.job, b"first", "one").await;
    let second = at.next_attempt(at.job, 2).await;
    let shown = async || {
        let TaskDiffView { job_id, changes, patch, is_truncated } =
            admin.task_diff("fix").await.unwrap();
        (job_id, changes.files[0].path.clone(), patch, is_truncated)
    };

    at.node.client.node_put_changes(second, PATCH_FILE, "half".into()).await.unwrap();
    assert_eq!(shown().await, (at.job, "one".to_owned(), "first".to_owned(), false));
    at.upload(second, b"second\xff", "two").await;
    assert_eq!(shown().await, (second, "two".to_owned(), "second\u{fffd}".to_owned(), false));
    let raw = changes_path(second, PATCH_FILE);
    let raw = admin.artifact_content_of_kind("fix", ArtifactKind::Changes, &raw).await.unwrap();
    assert_eq!(raw, b"second\xff".as_slice());
    // The newest job changed nothing.
    let third = at.next_attempt(second, 3).await;
    at.upload(third, b"", "three").await;
    assert_eq!(shown().await, (third, "three".to_owned(), String::new(), false));
    // A character that begins before the limit and ends after it is left out.
    let long = format!("{}äb", "+".repeat(1024 * 1024 - 1));
    let last = at.next_attempt(third, 4).await;
    at.upload(last, long.as_bytes(), "four").await;
    let (job, _, patch, is_truncated) = shown().await;
    assert_eq!((job, patch.len(), is_truncated), (last, 1024 * 1024 - 1, true));
    at.node.end(last, 0).await.unwrap();
}

pub(crate) async fn changes_count_as_files_and_are_deleted_with_them(harness: OrchestratorHarness) {
    let ada = harness.user("ada").await;
    let at = RepositoryJob::take(&harness, &ada, json!({ "max_attempts": 2 })).await;
    let used = async || ada.storage_usage().await.unwrap().used_bytes;
    at.upload(at.job, &[b'x'; 10_000], "x").await;
    at.upload(at.job, &[b'x'; 9_000], "x").await;
    assert_eq!(used().await, 9_000 + 2 * 4096);
    // Another job has files of its own, also with the same content.
    let second = at.next_attempt(at.job, 2).await;
    at.upload(second, &[b'x'; 9_000], "x").await;
    assert_eq!(used().await, 2 * (9_000 + 2 * 4096));
    assert_eq!(sums(&harness).await, recount(&harness).await);
    at.node.end(second, 0).await.unwrap();
    at.runner.finish(at.lease, 1, Outcome::Completed).await.unwrap();

    let deleted = ada.artifact_delete("fix", &all_files()).await.unwrap();

    assert_eq!((deleted.files, deleted.freed_bytes), (6, 2 * (9_000 + 2 * 4096)));
    assert_eq!((used().await, sums(&harness).await), (0, vec![]));
    refused(ada.task_diff("fix").await, 404);
}

pub(crate) async fn changes_beyond_a_storage_limit_are_rejected(harness: OrchestratorHarness) {
    let harness = harness.restart_with(|options| options.max_storage_mib_per_user = 1).await;
    let ada = harness.user("ada").await;
    let at = RepositoryJob::take(&harness, &ada, json!({})).await;
    let put = async |bytes: usize| {
        at.node.client.node_put_changes(at.job, PATCH_FILE, vec![b'x'; bytes].into()).await
    };

    put(900 * 1024).await.unwrap();
    let problem = refused(put(2 * 1024 * 1024).await, 422);

    assert_eq!(problem.kind, "urn:cynode:error:storage_limit");
    assert_eq!(ada.storage_usage().await.unwrap().used_bytes, 900 * 1024);
    at.node.end(at.job, 0).await.unwrap();
}

pub(crate) async fn agents_create_tasks_on_repositories_and_read_their_changes(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let pm = Mcp::agent(&harness, AgentType::Pm).await;
    let node = able_node(&harness, "anvil").await;
    let request = json!({
        "input_mode": "commands", "commands": ["make"], "task_name": "fix",
        "repository": { "url": "https://example.com/app.git", "base_branch": "main" },
    });
    let made = pm.call("db.task.create", request).await;
    assert_eq!(made["repository"]["branch"], "cynode/fix", "{made}");
    let of_task = json!({ "task_id": made["id"] });
    let runner = harness.runner();
    let lease = runner.claim(0).await.unwrap().lease;
    runner.dispatch(lease, 0).await.unwrap();
    let job = node.take().await;
    let missing = pm.call("git.diff", of_task.clone()).await;
    assert_eq!(missing["error"]["type"], "not_found", "{missing}");
    let patch = format!("{}\n", "+".repeat(100 * 1024));
    node.client.node_put_changes(job, PATCH_FILE, patch.into()).await.unwrap();
    let mut many: Value = serde_json::from_str(&collected("x")).unwrap();
    many["files"] =
        (0..600).map(|number| json!({ "path": format!("f{number}"), "status": "added" })).collect();
    node.client.node_put_changes(job, CHANGES_FILE, many.to_string().into()).await.unwrap();

    let diff = pm.call("git.diff", of_task.clone()).await;
    let short = json!({ "task_id": made["id"], "max_bytes": 5 });
    let short = pm.call("git.diff", short).await;

    assert_eq!((&diff["job_id"], &diff["is_truncated"]), (&json!(job), &json!(true)));
    assert_eq!(diff["patch"].as_str().unwrap().len(), 64 * 1024);
    assert_eq!(diff["changes"]["files"].as_array().unwrap().len(), 500);
    assert_eq!(diff["omitted"], json!({ "commits": 0, "files": 100, "findings": 0 }));
    assert_eq!(short["patch"], "+++++");
    // An analyst reads it; an agent in a sandbox has the repository itself.
    let task_id: TaskId = serde_json::from_value(made["id"].clone()).unwrap();
    let bound = BindingView { task_id: Some(task_id), ..BindingView::default() };
    let of =
        async |agent, bound| Mcp::at(&harness.url(), &issue(&harness, agent, bound).await.secret);
    let analyst = of(AgentType::Pa, bound).await;
    assert_eq!(analyst.call("git.diff", of_task.clone()).await["job_id"], json!(job));
    let in_job = BindingView { job_id: Some(job), ..bound };
    let sandboxed = of(AgentType::Sandbox, in_job).await;
    assert!(!sandboxed.tools().await.contains(&"git.diff".to_owned()));
    assert!(sandboxed.call("git.diff", of_task.clone()).await["error"]["type"].is_string());
    // Neither the task of another token nor that of another user is reached.
    let elsewhere = admin.task_create(&task_request(json!({}))).await.unwrap();
    let bound = BindingView { task_id: Some(elsewhere.id), ..BindingView::default() };
    let other = of(AgentType::Pa, bound).await;
    assert!(other.call("git.diff", of_task).await["error"]["type"].is_string());
    let without = json!({ "task_id": elsewhere.id });
    let without = pm.call("git.diff", without).await;
    assert!(without.to_string().contains("has no repository"), "{without}");
    node.end(job, 0).await.unwrap();
}
