//! Tasks that work on a repository: placement, branches, addresses.

use cynode_client::Client;
use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::policy::AgentType;
use cynode_wire::git::{
    BUILDS_ON_FEATURE, BUNDLE_FILE, CHANGES_FILE, PATCH_FILE, REPOSITORIES_FEATURE,
};
use cynode_wire::nodes::{Assignment, RegisterNode};
use cynode_wire::page::PageQuery;
use cynode_wire::runs::{ForkRun, RetryRun};
use cynode_wire::tasks::{CreateTask, TaskView};
use cynode_wire::workflow::LeaseToken;
use reqwest::Method;
use serde_json::{Value, json};

use crate::actors::{HarnessNode, HarnessRunner, registration};
use crate::harness::{HarnessResponse, OrchestratorHarness, eventually, refused, task_request};
use crate::mcp::Mcp;
use crate::runs::{fail, through_a_step};

/// The registration of a node that works on repositories.
fn able(slug: &str) -> RegisterNode {
    let mut body = registration(slug, true);
    let features = [REPOSITORIES_FEATURE, BUILDS_ON_FEATURE].map(str::to_owned);
    body.capabilities.sandbox.features.extend(features);
    body
}

/// A node that works on repositories and has polled once.
pub(crate) async fn able_node(harness: &OrchestratorHarness, slug: &str) -> HarnessNode {
    let node = HarnessNode::join(harness, &able(slug)).await.unwrap();
    node.poll(&[]).await;
    node
}

/// A task on a repository; the fields given replace the usual ones.
pub(crate) fn on_repository(fields: Value) -> CreateTask {
    let mut body =
        json!({ "task_name": "fix", "repository": { "url": "https://example.com/app.git" } });
    let Value::Object(mut fields) = fields else { panic!("fields are an object") };
    body.as_object_mut().unwrap().append(&mut fields);
    task_request(body)
}

/// `changes.json` with one changed file.
pub(crate) fn collected(path: &str) -> String {
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
    pub(crate) runner: HarnessRunner,
    pub(crate) node: HarnessNode,
    pub(crate) task: TaskView,
    pub(crate) lease: LeaseToken,
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
    pub(crate) async fn upload(&self, job: JobId, patch: &[u8], changed: &str) {
        let client = &self.node.client;
        client.node_put_changes(job, PATCH_FILE, patch.to_vec().into()).await.unwrap();
        client.node_put_changes(job, BUNDLE_FILE, "bundle".into()).await.unwrap();
        client.node_put_changes(job, CHANGES_FILE, collected(changed).into()).await.unwrap();
    }

    /// Ends the job, and takes the next attempt at its step.
    pub(crate) async fn next_attempt(&self, job: JobId, attempt: u32) -> JobId {
        self.node.end(job, 1).await.unwrap();
        self.runner.dispatch_attempt(self.lease, 0, attempt).await.unwrap();
        self.node.take().await
    }

    pub(crate) fn name(&self) -> &str {
        &self.task.task_name
    }
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
    let is_fix = |job: &&Assignment| job.task_id == task_id(&listed, "fix");
    let repository = taken.iter().find(is_fix).unwrap().repository.as_ref().unwrap();

    assert_eq!(repository.url.as_str(), "https://example.com/app.git");
    assert_eq!(repository.branch.as_str(), "cynode/fix");
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
