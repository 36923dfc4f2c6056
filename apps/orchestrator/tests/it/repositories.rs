//! Tasks that work on a repository: placement, collected changes, diffs.

use cynode_client::Client;
use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::policy::AgentType;
use cynode_domain::verdict::VerdictStatus;
use cynode_wire::agents::BindingView;
use cynode_wire::artifacts::ArtifactKind;
use cynode_wire::git::{
    BUNDLE_FILE, CHANGES_FILE, PATCH_FILE, REPOSITORIES_FEATURE, TaskDiffView, changes_path,
};
use cynode_wire::nodes::RegisterNode;
use cynode_wire::page::PageQuery;
use cynode_wire::runs::{ForkRun, RetryRun};
use cynode_wire::tasks::{CreateTask, TaskView};
use cynode_wire::workflow::{LeaseToken, Outcome};
use reqwest::Method;
use serde_json::{Value, json};

use crate::actors::{HarnessNode, HarnessRunner, registration};
use crate::harness::{HarnessResponse, OrchestratorHarness, eventually, refused, task_request};
use crate::mcp::{Mcp, issue};
use crate::runs::{fail, through_a_step};
use crate::storage::{all_files, recount, sums};

const PATCH: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n";

/// The registration of a node that works on repositories.
fn able(slug: &str) -> RegisterNode {
    let mut body = registration(slug, true);
    body.capabilities.sandbox.features.push(REPOSITORIES_FEATURE.to_owned());
    body
}

/// A node that works on repositories and has polled once.
async fn able_node(harness: &OrchestratorHarness, slug: &str) -> HarnessNode {
    let node = HarnessNode::join(harness, &able(slug)).await.unwrap();
    node.poll(&[]).await;
    node
}

/// A task on a repository; the fields given replace the usual ones.
fn on_repository(fields: Value) -> CreateTask {
    let mut body =
        json!({ "task_name": "fix", "repository": { "url": "https://example.com/app.git" } });
    let Value::Object(mut fields) = fields else { panic!("fields are an object") };
    body.as_object_mut().unwrap().append(&mut fields);
    task_request(body)
}

/// `changes.json` with one changed file.
fn collected(path: &str) -> String {
    let commit = |digit: &str| digit.repeat(40);
    json!({
        "url": "https://example.com/app.git", "branch": "cynode/fix",
        "base": commit("a"), "head": commit("b"),
        "commits": [{ "commit": commit("b"), "author": "Ada <ada@example.com>", "subject": "mend" }],
        "files": [{ "path": path, "status": "modified", "added": 1, "deleted": 1 }],
        "findings": [{ "severity": "review", "rule": "protected_path", "path": path, "message": "look" }],
    })
    .to_string()
}

/// A job with a repository that a node has taken.
pub(crate) struct RepositoryJob {
    runner: HarnessRunner,
    pub(crate) node: HarnessNode,
    pub(crate) task: TaskView,
    lease: LeaseToken,
    pub(crate) job: JobId,
}

impl RepositoryJob {
    pub(crate) async fn take(harness: &OrchestratorHarness, user: &Client, fields: Value) -> Self {
        let (runner, node) = (harness.runner(), able_node(harness, "anvil").await);
        let task = user.task_create(&on_repository(fields)).await.unwrap();
        let lease = runner.claim(0).await.unwrap().lease;
        runner.dispatch(lease, 0).await.unwrap();
        let job = node.take().await;
        Self { runner, node, task, lease, job }
    }

    /// Uploads the changes of a job in the order of a node.
    async fn upload(&self, job: JobId, patch: &[u8], changed: &str) {
        let client = &self.node.client;
        client.node_put_changes(job, PATCH_FILE, patch.to_vec().into()).await.unwrap();
        client.node_put_changes(job, BUNDLE_FILE, "bundle".into()).await.unwrap();
        client.node_put_changes(job, CHANGES_FILE, collected(changed).into()).await.unwrap();
    }

    /// Ends the job, and takes the next attempt at its step.
    async fn next_attempt(&self, job: JobId, attempt: u32) -> JobId {
        self.node.end(job, 1).await.unwrap();
        self.runner.dispatch_attempt(self.lease, 0, attempt).await.unwrap();
        self.node.take().await
    }

    fn name(&self) -> &str {
        &self.task.task_name
    }
}

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
        assert!(problem.detail.ends_with("changes.json, changes.patch, changes.bundle"), "{file}");
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

pub(crate) async fn a_job_with_a_repository_waits_for_a_node_that_works_on_one(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let plain = harness.node("plain").await;
    let on_plain = json!({ "task_name": "pinned", "node": "plain" });
    for fields in [json!({}), on_plain] {
        admin.task_create(&on_repository(fields)).await.unwrap();
        let lease = runner.claim(0).await.unwrap().lease;
        runner.dispatch(lease, 0).await.unwrap();
    }
    let agent =
        json!({ "task_name": "agent", "input_mode": "agent", "prompt": "x", "commands": [] });
    admin.task_create(&on_repository(agent)).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    runner.dispatch(lease, 0).await.unwrap();
    let blocked =
        async |task: &str| admin.task_get(task).await.unwrap().blocked_reason.unwrap_or_default();

    assert_eq!(plain.poll(&[]).await.assignments, []);
    let reason = blocked("fix").await;
    let expected = "waiting for a worker node with the feature \"repositories\": no node has it";
    assert!(reason.starts_with(expected), "{reason}");
    let reason = blocked("pinned").await;
    assert_eq!(reason, "waiting for node \"plain\", which lacks the feature \"repositories\"");
    let reason = blocked("agent").await;
    assert!(reason.contains("\"agents\" and \"repositories\": no node has them"), "{reason}");
    // The list has the same texts.
    let listed = admin.task_list(&cynode_wire::tasks::TaskQuery::default()).await.unwrap().items;
    assert!(listed.iter().all(|task| task.blocked_reason.is_some()), "{listed:?}");

    let able = able_node(&harness, "able").await;
    assert_eq!(plain.poll(&[]).await.assignments, []);
    let taken = able.poll(&[]).await.assignments;
    let repositories: Vec<_> =
        taken.iter().map(|job| json!(job.repository.as_ref().unwrap())).collect();

    let expected = json!({
        "url": "https://example.com/app.git", "branch": "cynode/fix", "has_credential": false,
    });
    assert!(repositories.contains(&expected), "{repositories:?}");
    assert_eq!(blocked("fix").await, "");
    assert!(taken.iter().all(|job| job.task_id != task_id(&listed, "pinned")), "{taken:?}");
}

fn task_id(tasks: &[TaskView], name: &str) -> TaskId {
    tasks.iter().find(|task| task.task_name == name).unwrap().id
}

pub(crate) async fn every_task_has_a_branch_and_a_fork_has_its_own(harness: OrchestratorHarness) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let branch =
        |task: &TaskView| task.repository.as_ref().unwrap().branch.as_ref().unwrap().to_string();
    let url = "https://example.com/app.git";
    let named = json!({ "url": url, "base_branch": "main", "branch": "mend/it" });
    let create = async |fields: Value| admin.task_create(&on_repository(fields)).await.unwrap();
    let first = create(json!({})).await;
    let lease = runner.claim(0).await.unwrap().lease;
    through_a_step(&runner, lease, JobId::generate()).await;
    fail(&runner, lease).await;
    let second = create(json!({})).await;
    runner.claim(0).await.unwrap();
    let explicit = create(json!({ "task_name": "explicit", "repository": named })).await;
    let lease = runner.claim(0).await.unwrap().lease;
    through_a_step(&runner, lease, JobId::generate()).await;
    fail(&runner, lease).await;

    let fork = async |task: &TaskView, name: Option<&str>| {
        let task_name = name.map(str::to_owned);
        let request = ForkRun { sequence: 2, task_name, ..ForkRun::default() };
        let made = admin.run_fork(&task.task_name, &request).await.unwrap().run.task_name;
        admin.task_get(&made).await.unwrap()
    };
    let forks =
        [fork(&first, None).await, fork(&first, Some("other")).await, fork(&explicit, None).await];
    admin.run_retry(&first.task_name, &RetryRun::default()).await.unwrap();
    let retried = admin.task_get(&first.task_name).await.unwrap();

    assert_eq!(branch(&explicit), "mend/it");
    assert_eq!(branch(&first), "cynode/fix");
    assert_eq!(retried.repository, first.repository);
    for task in forks.iter().chain([&second]) {
        assert_eq!(branch(task), format!("cynode/{}", task.task_name));
        assert_eq!(task.repository.as_ref().unwrap().url.as_str(), url);
    }
    let base = forks[2].repository.as_ref().unwrap().base_branch.as_ref();
    assert_eq!(base.map(ToString::to_string).as_deref(), Some("main"));
    let mut branches: Vec<_> =
        forks.iter().chain([&first, &second, &explicit]).map(branch).collect();
    branches.sort();
    branches.dedup();
    assert_eq!(branches.len(), 6, "{branches:?}");
}

pub(crate) async fn a_key_with_another_repository_is_a_conflict(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let create = async |repository: Value| {
        let fields = json!({ "idempotency_key": "k", "repository": repository });
        admin.task_create(&on_repository(fields)).await
    };
    let url = "https://example.com/app.git";
    let made = create(json!({ "url": url })).await.unwrap();

    assert_eq!(create(json!({ "url": url })).await.unwrap().id, made.id);
    for other in [
        json!({ "url": "https://example.com/other.git" }),
        json!({ "url": url, "base_branch": "main" }),
        json!({ "url": url, "branch": "b" }),
        json!(null),
    ] {
        refused(create(other).await, 409);
    }
}

pub(crate) async fn a_schedule_keeps_the_repository_of_its_task(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let task = json!({
        "input_mode": "commands", "commands": ["make"],
        "repository": { "url": "git@example.com:app", "base_branch": "main" },
    });
    let schedule = json!({ "name": "nightly", "every_s": 3600, "task": task });
    admin.schedule_create(&serde_json::from_value(schedule).unwrap()).await.unwrap();

    admin.schedule_fire("nightly").await.unwrap();
    let made = eventually("the task is there", async || {
        let runs = admin.schedule_runs("nightly", &PageQuery::default()).await.unwrap().items;
        runs.into_iter().flat_map(|run| run.tasks).next()
    })
    .await;

    let task = admin.task_get(&made.id.to_string()).await.unwrap();
    let expected = json!({
        "url": "git@example.com:app", "base_branch": "main",
        "branch": format!("cynode/{}", task.task_name),
    });
    assert_eq!(json!(task.repository), expected);
}

pub(crate) async fn an_address_with_a_password_is_rejected_and_kept_nowhere(
    harness: OrchestratorHarness,
) {
    let pm = Mcp::agent(&harness, AgentType::Pm).await;
    for url in [
        "https://ada:s3same-open@example.com/app",
        "ssh://git:s3same-open@example.com/app",
        "ada:s3same-open@example.com/app",
        "https://example.com/app?token=s3same-open",
    ] {
        let repository = json!({ "url": url });
        let body = json!({ "prompt": "mend it", "repository": repository });
        let request = harness.as_admin(Method::POST, "/v1/tasks").json(&body);
        let response = HarnessResponse::send(request).await;
        response.assert_problem(400);
        let schedule = json!({ "name": "s", "every_s": 3600, "task": body });
        let request = harness.as_admin(Method::POST, "/v1/schedules").json(&schedule);
        let of_schedule = HarnessResponse::send(request).await;
        of_schedule.assert_problem(400);
        let of_tool = pm.answer("db.task.create", body.clone()).await;
        let is_error = of_tool["result"]["isError"] == json!(true) || of_tool["error"].is_object();
        assert!(is_error, "{of_tool}");
        for text in [response.body.to_string(), of_schedule.body.to_string(), of_tool.to_string()] {
            assert!(!text.contains("s3same"), "{text}");
        }
    }
    // A user name of https may be a token, and is dropped.
    let body = json!({ "repository": { "url": "https://s3same-open@example.com/app" } });
    harness.admin().task_create(&task_request(body)).await.unwrap();

    let tables = harness.database().tables_containing("s3same").await;
    assert_eq!(tables, Vec::<String>::new());
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
    let none = pm.call("git.diff", of_task.clone()).await;
    assert_eq!(none["error"]["type"], "not_found", "{none}");
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
