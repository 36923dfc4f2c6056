//! Damaged storage: unreadable rows, modified files, a missing or read-only database.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cynode_testkit::{postgres_database, query, reject_writes, sqlite_database};
use cynode_wire::tasks::{TaskQuery, TaskView};
use reqwest::Method;
use serde_json::json;

use crate::harness::{HarnessResponse, OrchestratorHarness, refused, task_request};

async fn change(harness: &OrchestratorHarness, sql: String) {
    query(&harness.database().url, &format!("{sql};")).await;
}

pub(crate) async fn a_task_that_cannot_be_read_stops_nothing_else(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let (bad, good) = (harness.task().await, harness.task().await);
    change(&harness, format!("UPDATE tasks SET options = '{{}}' WHERE id = '{}'", bad.id)).await;

    let listed = admin.task_list(&TaskQuery::default()).await.unwrap();
    let shown =
        HarnessResponse::send(harness.as_admin(Method::GET, &format!("/v1/tasks/{}", bad.id)))
            .await;
    let runner = harness.runner();
    let granted = runner.claim(0).await.unwrap();

    assert_eq!(listed.items.iter().map(|task| task.id).collect::<Vec<_>>(), [good.id]);
    let detail = shown.assert_problem(500);
    for word in ["tasks", &bad.id.to_string(), "options", "quarantined", "cynork status"] {
        assert!(detail.contains(word), "{word}: {detail}");
    }
    assert_eq!(granted.lease.task_id, good.id);
    assert!(runner.claim(0).await.is_none(), "the other is left alone");

    harness.node("anvil").await;
    let ready = HarnessResponse::send(harness.request(Method::GET, "/readyz")).await;
    assert_eq!((ready.status.as_u16(), &ready.body["ready"]), (200, &json!(true)));
    let warning = ready.body["warnings"][0].as_str().unwrap();
    assert!(warning.starts_with("1 quarantined row"), "{warning}");
    let status = admin.status().await.unwrap();
    assert_eq!((status.quarantined_rows, status.quarantined.len()), (1, 1));
    let row = &status.quarantined[0];
    assert_eq!((row.table.as_str(), row.key.clone()), ("tasks", bad.id.to_string()));
    // The content of a row is not disclosed.
    let others = harness.user("ada").await.status().await.unwrap();
    assert_eq!((others.quarantined_rows, others.quarantined.len()), (1, 0));
    let numbers = HarnessResponse::send(harness.request(Method::GET, "/metrics")).await;
    let text = numbers.body.as_str().unwrap();
    assert!(text.contains("cynode_quarantined_rows 1"), "{text}");
}

pub(crate) async fn rows_that_cannot_be_read_do_not_keep_it_from_starting(
    harness: OrchestratorHarness,
) {
    for sql in [
        "UPDATE skills SET scope = 'odd'",
        "UPDATE mcp_tools SET definition = '[]' WHERE name = 'help.get'",
        "UPDATE access_control_rules SET conditions = '1'",
    ] {
        change(&harness, sql.to_owned()).await;
    }

    let harness = harness.restart_with(|_| {}).await;

    let rows = harness.admin().status().await.unwrap().quarantined;
    for table in ["skills", "mcp_tools", "access_control_rules"] {
        assert!(rows.iter().any(|row| row.table == table), "{table}: {rows:?}");
    }
    harness.task().await;
    harness.runner().claim(0).await.unwrap();
}

pub(crate) async fn a_job_that_cannot_be_read_ends_and_its_node_gets_the_next(
    harness: OrchestratorHarness,
) {
    let node = harness.node("anvil").await;
    let runner = harness.runner();
    harness.task().await;
    harness.task().await;
    let (one, two) = (runner.claim(0).await.unwrap().lease, runner.claim(0).await.unwrap().lease);
    let (bad, good) =
        (runner.dispatch(one, 0).await.unwrap(), runner.dispatch(two, 0).await.unwrap());
    change(&harness, format!("UPDATE jobs SET payload = '{{}}' WHERE id = '{bad}'")).await;

    let news = node.poll(&[]).await;

    assert_eq!(news.assignments.iter().map(|job| job.job_id).collect::<Vec<_>>(), [good]);
    let jobs = harness.admin().task_result(&one.task_id.to_string()).await.unwrap();
    let text = serde_json::to_string(&jobs).unwrap();
    assert!(text.contains("the payload of the job cannot be read"), "{text}");
}

pub(crate) async fn nothing_is_ready_while_nothing_can_be_written(harness: OrchestratorHarness) {
    harness.node("anvil").await;
    harness.runner().claim(0).await;
    let look = || HarnessResponse::send(harness.request(Method::GET, "/readyz"));
    assert_eq!(look().await.status, 200);

    let writes = reject_writes(&harness.database().url).await;
    harness.clock.advance(Duration::from_mins(1));
    let refused = look().await;

    assert_eq!(refused.status, 503, "{}", refused.body);
    let reasons = refused.body["reasons"].to_string();
    assert!(reasons.contains("is not writable"), "{reasons}");
    writes.end().await;
    crate::harness::eventually("writes succeed again", async || {
        (!look().await.body["reasons"].to_string().contains("writable")).then_some(())
    })
    .await;
}

pub(crate) async fn an_idempotency_key_is_good_for_one_request(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let first = task_request(json!({ "idempotency_key": "order 66", "commands": ["true"] }));
    let other = task_request(json!({ "idempotency_key": "order 66", "commands": ["false"] }));
    let made = admin.task_create(&first).await.unwrap();

    let problem = refused(admin.task_create(&other).await, 409);

    assert!(problem.detail.contains("order 66"), "{problem:?}");
    assert!(problem.detail.contains(&made.task_name), "{problem:?}");
    assert_eq!(admin.task_create(&first).await.unwrap(), made);
    assert_eq!(admin.task_list(&TaskQuery::default()).await.unwrap().items.len(), 1);
}

/// A task with an attachment, and the file that its content is in.
async fn with_attachment(harness: &OrchestratorHarness) -> (TaskView, PathBuf) {
    let attachments = json!([{ "name": "notes.txt", "content_base64": "aGVsbG8=" }]);
    let made =
        harness.admin().task_create(&task_request(json!({ "attachments": attachments }))).await;
    let made = made.unwrap();
    let listed = harness.admin().artifact_list(&made.id.to_string()).await.unwrap();
    let (group, name) = listed[0].sha256.split_at(2);
    (made, harness.data_dir().join("blobs").join(group).join(name))
}

pub(crate) async fn a_file_that_was_changed_is_not_served(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let (task, file) = with_attachment(&harness).await;
    let id = task.id.to_string();
    std::fs::write(&file, "jello").unwrap();

    let problem = refused(admin.artifact_content(&id, "notes.txt").await, 500);

    assert!(problem.detail.contains("is damaged"), "{problem:?}");
    assert!(problem.detail.contains("backup"), "{problem:?}");
    let status = admin.status().await.unwrap();
    assert_eq!(status.quarantined[0].table, "blobs");
    // After the restore it is served, and no longer reported.
    std::fs::write(&file, "hello").unwrap();
    assert_eq!(&admin.artifact_content(&id, "notes.txt").await.unwrap()[..], b"hello");
    assert_eq!(admin.status().await.unwrap().quarantined_rows, 0);
}

pub(crate) async fn a_database_that_is_gone_is_not_replaced_beside_files_of_its_tasks(
    harness: OrchestratorHarness,
) {
    let (_, file) = with_attachment(&harness).await;

    let is_sqlite = harness.database().url.starts_with("sqlite:");
    let files = harness.files().await;
    let fresh = if is_sqlite { sqlite_database() } else { postgres_database().await };

    let (error, fresh) =
        OrchestratorHarness::try_start(Arc::clone(&files), fresh, |_| {}).await.err().unwrap();

    for word in ["the database was lost", "backup", "--allow-new-database"] {
        assert!(error.contains(word), "{word}: {error}");
    }
    assert!(file.exists());
    let harness =
        OrchestratorHarness::start(files, fresh, |options| options.allow_new_database = true).await;
    harness.admin().whoami().await.unwrap();
}
