//! Storage: bytes that files take, their limits, and deleting files.

mod forks;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_blobs::{BlobCollector, BlobStore};
use cynode_client::Client;
use cynode_domain::ids::JobId;
use cynode_domain::policy::AgentType;
use cynode_resources::Store;
use cynode_testkit::query;
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::artifacts::DeleteArtifacts;
use cynode_wire::tasks::TaskView;
use cynode_wire::workflow::{LeaseToken, Outcome};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::actors::{HarnessNode, HarnessRunner};
use crate::harness::{OrchestratorHarness, create_commands_task, refused, task_request};
use crate::mcp::Mcp;
pub(crate) use forks::{
    a_fork_and_a_deletion_at_once_leave_no_fork_without_its_files, a_fork_counts_its_attachments,
    deleting_the_files_of_a_task_keeps_those_of_its_forks,
};

const KIB: usize = 1024;
/// What a small file counts with.
const BLOCK: i64 = 4096;

/// Limits each user to 1 MiB and leaves projects without a limit.
async fn with_user_limit(harness: OrchestratorHarness) -> OrchestratorHarness {
    harness
        .restart_with(|options| {
            options.max_storage_mib_per_user = 1;
            options.max_storage_mib_per_project = 0;
        })
        .await
}

/// A task of a user whose job a node has taken.
pub(crate) struct TakenJob {
    pub(crate) task: TaskView,
    pub(crate) job: JobId,
    lease: LeaseToken,
}

pub(crate) async fn take_job(
    (runner, node): (&HarnessRunner, &HarnessNode),
    user: &Client,
    task: Value,
) -> TakenJob {
    let task = user.task_create(&task_request(task)).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    runner.dispatch(lease, 0).await.unwrap();
    TakenJob { task, job: node.take().await, lease }
}

pub(crate) fn attachment(name: &str, content: &[u8]) -> Value {
    json!({ "name": name, "content_base64": STANDARD.encode(content) })
}

pub(crate) fn all_files() -> DeleteArtifacts {
    DeleteArtifacts::default()
}

fn files_at(paths: &[&str]) -> DeleteArtifacts {
    DeleteArtifacts { paths: Some(paths.iter().map(|path| (*path).to_owned()).collect()) }
}

/// The token of an agent that acts for a user.
async fn agent_token(user: &Client) -> String {
    let (name, user_id, expires_in_seconds) = ("test".to_owned(), None, None);
    let (agent_type, binding) = (AgentType::Pm, BindingView::default());
    let body = IssueAgentToken { agent_type, name, user_id, expires_in_seconds, binding };
    user.agent_token_issue(&body).await.unwrap().secret
}

async fn used(user: &Client) -> i64 {
    user.storage_usage().await.unwrap().used_bytes
}

/// Bytes of users and projects as the files say, not the sums.
pub(crate) async fn recount(harness: &OrchestratorHarness) -> Vec<Vec<String>> {
    let size = "CASE WHEN size_bytes < 4096 THEN 4096 ELSE size_bytes END";
    let sql = format!(
        "SELECT subject, sum(size) FROM (
             SELECT t.created_by AS subject, {size} AS size FROM task_artifacts a JOIN tasks t ON t.id = a.task_id
             WHERE a.job_id IS NULL
             UNION ALL SELECT t.project_id, {size} FROM task_artifacts a JOIN tasks t ON t.id = a.task_id
             WHERE a.job_id IS NULL
             UNION ALL SELECT t.created_by, {size}
             FROM job_outputs o JOIN jobs j ON j.id = o.job_id JOIN tasks t ON t.id = j.task_id
             UNION ALL SELECT t.project_id, {size}
             FROM job_outputs o JOIN jobs j ON j.id = o.job_id JOIN tasks t ON t.id = j.task_id) f
         GROUP BY subject ORDER BY subject"
    );
    query(&harness.database().url, &sql).await
}

pub(crate) async fn sums(harness: &OrchestratorHarness) -> Vec<Vec<String>> {
    let sql = "SELECT subject_id, held_bytes FROM storage_usage WHERE held_bytes <> 0 ORDER BY subject_id";
    query(&harness.database().url, sql).await
}

/// The stored blobs, and files in the directory of incomplete uploads.
pub(crate) fn blob_files(harness: &OrchestratorHarness) -> (usize, usize) {
    let (mut blobs, mut incoming) = (0, 0);
    for group in std::fs::read_dir(harness.data_dir().join("blobs")).unwrap() {
        let group = group.unwrap();
        let count = || std::fs::read_dir(group.path()).unwrap().count();
        match group.file_name().to_str().unwrap() {
            "incoming" => incoming = count(),
            name if name.len() == 2 => blobs += count(),
            _ => {}
        }
    }
    (blobs, incoming)
}

/// Another process that collects in the same directory, on the clock of the harness.
pub(crate) async fn collector(harness: &OrchestratorHarness) -> BlobCollector {
    let store = Store::open(&harness.database().url).await.unwrap();
    let blobs = BlobStore::new(harness.data_dir().join("blobs"));
    BlobCollector::new(store, blobs, Arc::new(harness.clock.clone()))
}

/// From here on, the grace period of all content is over.
pub(crate) fn end_grace(harness: &OrchestratorHarness) {
    harness.clock.advance(Duration::from_hours(2));
}

pub(crate) async fn files_count_for_the_creator_and_the_project_of_their_task(
    harness: OrchestratorHarness,
) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let (ada, eve) = (harness.user("ada").await, harness.user("eve").await);
    let body = json!({ "attachments": [attachment("in", b"hello"), attachment("in2", b"hello")] });
    let first = take_job((&runner, &node), &ada, body).await;
    let put = async |job, path: &str, bytes: usize| {
        node.client.node_put_artifact(job, path, vec![7; bytes].into()).await.unwrap();
    };

    put(first.job, "big", 10 * KIB).await;
    put(first.job, "small", 1).await;
    put(first.job, "big", 9 * KIB).await;
    node.end(first.job, 1).await.unwrap();
    // The second attempt replaces the file for people; the first attempt's file is still stored as evidence.
    runner.dispatch_attempt(first.lease, 0, 2).await.unwrap();
    let again = node.take().await;
    put(again, "big", 8 * KIB).await;
    let pm = Mcp::at(&harness.url(), &agent_token(&ada).await);
    let path =
        json!({ "task_id": first.task.id, "path": "big", "content_bytes_base64": "aGVsbG8=" });
    pm.call("artifact.put", path).await;

    let expected = 2 * BLOCK + 9 * 1024 + BLOCK + 8 * 1024 + BLOCK;
    let usage = ada.storage_usage().await.unwrap();
    assert_eq!((usage.handle.as_str(), usage.used_bytes), ("ada", expected));
    assert_eq!(usage.limit_bytes, Some(51_200 * 1024 * 1024));
    assert_eq!(usage.projects.len(), 1);
    assert_eq!(
        (usage.projects[0].id, usage.projects[0].used_bytes),
        (first.task.project_id, expected)
    );
    let of_eve = eve.storage_usage().await.unwrap();
    assert_eq!((of_eve.used_bytes, of_eve.projects), (0, vec![]));
    assert_eq!(used(&harness.admin()).await, 0);
    assert_eq!(sums(&harness).await, recount(&harness).await);
    refused(harness.anonymous().storage_usage().await, 401);
    refused(node.client.storage_usage().await, 401);
}

pub(crate) async fn uploads_that_race_for_the_last_bytes_do_not_exceed_the_limit(
    harness: OrchestratorHarness,
) {
    let harness = with_user_limit(harness).await;
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let (ada, eve) = (harness.user("ada").await, harness.user("eve").await);
    let taken = take_job((&runner, &node), &ada, json!({})).await;

    let uploads = (0..8_u8).map(|number| {
        let content = vec![number; 300 * KIB];
        let (client, path) = (node.client.clone(), format!("file-{number}"));
        async move { client.node_put_artifact(taken.job, &path, content.into()).await }
    });
    let stored = join_all(uploads).await;

    let (stored, rejected): (Vec<_>, Vec<_>) = stored.into_iter().partition(Result::is_ok);
    assert_eq!((stored.len(), rejected.len()), (3, 5));
    for rejected in rejected {
        let problem = refused(rejected, 422);
        assert_eq!(problem.kind, "urn:cynode:error:storage_limit");
        for part in [
            "user \"ada\" take 921600 bytes",
            "307200 more",
            "limit of 1048576 bytes",
            "cynork task artifacts delete TASK",
            "max_storage_mib_per_user",
        ] {
            assert!(problem.detail.contains(part), "{part}: {}", problem.detail);
        }
    }
    assert_eq!(used(&ada).await, 921_600);
    // Nothing of the rejected files is left.
    assert_eq!(blob_files(&harness), (3, 0));
    // The same file again takes no more bytes; another user has bytes of their own.
    let path = stored.into_iter().next().unwrap().unwrap().path;
    let number: u8 = path.trim_start_matches("file-").parse().unwrap();
    let same = vec![number; 300 * KIB];
    node.client.node_put_artifact(taken.job, &path, same.into()).await.unwrap();
    let body = json!({ "attachments": [attachment("x", &vec![1; 900 * KIB])] });
    eve.task_create(&task_request(body)).await.unwrap();
    assert_eq!((used(&ada).await, used(&eve).await), (921_600, 921_600));
    node.end(taken.job, 0).await.unwrap();
}

pub(crate) async fn attachments_beyond_a_limit_create_no_task(harness: OrchestratorHarness) {
    let harness = harness
        .restart_with(|options| {
            options.max_storage_mib_per_user = 0;
            options.max_storage_mib_per_project = 1;
        })
        .await;
    let ada = harness.user("ada").await;
    let project = cynode_wire::projects::CreateProject {
        display_name: "Attic".to_owned(),
        description: String::new(),
        ..<_>::default()
    };
    ada.project_create(&project).await.unwrap();
    let with = |project: Option<&str>, name: &str| {
        let file = attachment(name, &vec![1; 600 * KIB]);
        task_request(json!({ "project": project, "task_name": name, "attachments": [file] }))
    };
    ada.task_create(&with(Some("attic"), "one")).await.unwrap();

    let problem = refused(ada.task_create(&with(Some("attic"), "two")).await, 422);

    assert!(problem.detail.contains("project \"attic\" take 614400 bytes"), "{}", problem.detail);
    assert!(problem.detail.contains("max_storage_mib_per_project"), "{}", problem.detail);
    refused(ada.task_get("two").await, 404);
    // Another project of the same user has bytes of its own.
    ada.task_create(&with(None, "three")).await.unwrap();
    let usage = ada.storage_usage().await.unwrap();
    assert_eq!((usage.used_bytes, usage.limit_bytes), (2 * 600 * 1024, None));
    let limits: Vec<_> = usage.projects.iter().map(|project| project.limit_bytes).collect();
    assert_eq!(limits, [Some(1024 * 1024); 2]);
    // All have the same content.
    assert_eq!(blob_files(&harness), (1, 0));
}

pub(crate) async fn an_agent_stores_files_within_the_limits_of_the_tasks_creator(
    harness: OrchestratorHarness,
) {
    let harness = with_user_limit(harness).await;
    let (ada, admin) = (harness.user("ada").await, harness.admin());
    let task = ada.task_create(&create_commands_task(&["true"])).await.unwrap();
    let token = agent_token(&ada).await;
    let pm = Mcp::at(&harness.url(), &token);
    let put = async |path: &str| {
        let content = STANDARD.encode(path.repeat(400 * KIB));
        let file = json!({ "task_id": task.id, "path": path, "content_bytes_base64": content });
        pm.answer("artifact.put", file).await.to_string()
    };
    let stored = [put("a").await, put("b").await];
    assert!(stored.iter().all(|answer| answer.contains("size_bytes")), "{stored:?}");

    let rejected = put("c").await;

    assert!(rejected.contains("max_storage_mib_per_user"), "{rejected}");
    assert!(rejected.contains("ada"), "{rejected}");
    assert_eq!((used(&ada).await, used(&admin).await), (2 * 400 * 1024, 0));
    // The token of an agent neither reads the usage of its user nor deletes files.
    let agent = harness.client(token);
    refused(agent.storage_usage().await, 401);
    refused(agent.artifact_delete(&task.id.to_string(), &all_files()).await, 401);
}

pub(crate) async fn files_of_a_closed_task_are_deleted_by_its_owner_or_an_administrator(
    harness: OrchestratorHarness,
) {
    let (runner, node) = (harness.runner(), harness.node("anvil").await);
    let (ada, eve) = (harness.user("ada").await, harness.user("eve").await);
    let body = json!({ "task_name": "build", "attachments": [attachment("a", b"in")] });
    let taken = take_job((&runner, &node), &ada, body).await;
    let id = taken.task.id.to_string();
    for path in ["a", "b", "c"] {
        node.client.node_put_artifact(taken.job, path, "out".into()).await.unwrap();
    }
    let problem = refused(ada.artifact_delete("build", &all_files()).await, 409);
    assert!(problem.detail.starts_with("task \"build\" is running"), "{}", problem.detail);
    assert!(problem.detail.contains("cynork task cancel build"), "{}", problem.detail);
    node.end(taken.job, 0).await.unwrap();
    runner.finish(taken.lease, 1, Outcome::Completed).await.unwrap();

    refused(eve.artifact_delete(&id, &all_files()).await, 404);
    refused(node.client.artifact_delete(&id, &all_files()).await, 401);
    refused(runner.client.artifact_delete(&id, &all_files()).await, 401);
    refused(ada.artifact_delete("build", &files_at(&["b", "nothing"])).await, 404);
    refused(ada.artifact_delete("build", &files_at(&[])).await, 400);
    refused(ada.artifact_delete("build", &files_at(&vec!["b"; 1001])).await, 400);
    assert_eq!((ada.artifact_list("build").await.unwrap().len(), used(&ada).await), (4, 4 * BLOCK));

    let by_path = ada.artifact_delete("build", &files_at(&["a", "b"])).await.unwrap();
    assert_eq!((by_path.files, by_path.freed_bytes), (3, 3 * BLOCK));
    refused(ada.artifact_content("build", "a").await, 404);
    let rest = harness.admin().artifact_delete(&id, &all_files()).await.unwrap();
    assert_eq!((rest.files, rest.freed_bytes), (1, BLOCK));
    let again = ada.artifact_delete("build", &all_files()).await.unwrap();
    assert_eq!((again.files, again.freed_bytes), (0, 0));

    assert_eq!((ada.artifact_list("build").await.unwrap(), used(&ada).await), (vec![], 0));
    assert_eq!(ada.task_get("build").await.unwrap().status.as_str(), "completed");
    let sql = "SELECT data FROM events WHERE kind = 'task.artifacts_deleted' ORDER BY seq";
    let events: Vec<Value> = query(&harness.database().url, sql)
        .await
        .iter()
        .map(|row| serde_json::from_str(&row[0]).unwrap())
        .collect();
    assert_eq!(events.len(), 3);
    assert_eq!(
        events[0],
        json!({ "by": "ada", "files": 3, "freed_bytes": 3 * BLOCK, "paths": ["a", "b"] })
    );
    assert_eq!((&events[1]["by"], &events[1]["paths"]), (&json!("admin"), &json!([])));
}
