//! Storage limits, and processes that die while files are stored or deleted.

use std::fs;
use std::path::Path;
use std::time::Duration;

use cynode_testkit::postgres_database;
use cynode_wire::artifacts::DeleteArtifacts;
use cynode_wire::tasks::{CreateTask, TaskQuery};
use nix::sys::signal::Signal;
use serde_json::json;

use crate::fleet::{NODE, ProcessFleet, was_ended_by};
use crate::processes::eventually;
use crate::system::{PATIENCE, System, SystemDatabase};
use crate::work::commands;

const ORCHESTRATOR: &str = "orchestrator";
const BLOCK: i64 = 4096;

/// The files in the directory of incomplete uploads.
fn count_incoming(data: &Path) -> usize {
    fs::read_dir(data.join("blobs/incoming")).map_or(0, Iterator::count)
}

#[tokio::test]
async fn a_job_whose_artifacts_exceed_the_limit_fails_with_the_reason_and_frees_its_slot() {
    let config = "[orchestrator]\nmax_storage_mib_per_user = 1\n[node]\nmax_concurrency = 1\n";
    let system = System::with(SystemDatabase::Embedded, config).await;
    let line =
        "for n in a b; do head -c 700000 /dev/urandom > \"$CYNODE_ARTIFACTS_DIR/$n.bin\"; done";
    let create = |name: &str, line: &str| {
        let create = ["task", "create", "--name", name, "--command", line, "--wait", "-o", "json"];
        system.cynork(&create)
    };

    let failed = create("large", line);

    assert_eq!(failed.code, 1, "{failed:?}");
    let result = failed.json();
    assert_eq!(result["status"], "failed");
    let summary = result["summary"].as_str().unwrap();
    for part in
        ["exited with code 0", "1 of 2 artifacts", "b.bin", "cynork task artifacts delete TASK"]
    {
        assert!(summary.contains(part), "{part}: {summary}");
    }
    assert_eq!(result["jobs"][0]["result"]["ending"]["kind"], "limit_reached");
    // The only slot of the node is free, and the limit rejects nothing but files.
    assert_eq!(create("small", "echo fine").expect_success().json()["status"], "completed");
    let usage =
        system.cynork(&["task", "artifacts", "usage", "-o", "json"]).expect_success().json();
    assert_eq!((&usage["used_bytes"], &usage["limit_bytes"]), (&json!(700_000), &json!(1_048_576)));
    assert_eq!(count_incoming(system.data_dir()), 0);
    let deleted = system.cynork(&["task", "artifacts", "delete", "large", "a.bin"]);
    assert_eq!(deleted.expect_success().stdout.trim(), "deleted one file; 700000 B are free");
    let shown = system.cynork(&["task", "artifacts", "usage"]).expect_success().stdout;
    assert!(shown.contains("0 B") && shown.contains("1048576 B"), "{shown}");
    let again = create("again", "head -c 700000 /dev/urandom > \"$CYNODE_ARTIFACTS_DIR/a.bin\"");
    assert_eq!(again.expect_success().json()["status"], "completed");
}

fn with_attachment(name: &str) -> CreateTask {
    let body = json!({
        "input_mode": "commands", "commands": ["true"], "task_name": name,
        "attachments": [{ "name": "in", "content_base64": "aGVsbG8=" }],
    });
    serde_json::from_value(body).unwrap()
}

#[tokio::test]
async fn an_orchestrator_that_dies_while_it_stores_or_deletes_files_does_all_or_nothing() {
    let postgres = postgres_database().await;
    for database in [None, Some(postgres.url.as_str())] {
        let mut fleet = ProcessFleet::new(database);
        let url = fleet.add_orchestrator(ORCHESTRATOR).await;
        let client = fleet.client(&url);
        fleet
            .retry_while_unavailable(async || client.task_create(&with_attachment("one")).await)
            .await;
        client.task_cancel("one").await.unwrap();
        let die_at = async |fleet: &mut ProcessFleet, point: &str| {
            fleet.wait_for_failpoint(point).await;
            let death = eventually("its death", PATIENCE, || fleet.exit_status(ORCHESTRATOR)).await;
            assert!(was_ended_by(death, Signal::SIGABRT), "it ended otherwise: {death}");
            fleet.start(ORCHESTRATOR);
        };

        fleet.arm_failpoint("artifacts_deleted@task", "");
        client.artifact_delete("one", &DeleteArtifacts::default()).await.unwrap_err();
        die_at(&mut fleet, "artifacts_deleted@task").await;
        let content = async || client.artifact_content("one", "in").await;
        assert_eq!(fleet.retry_while_unavailable(content).await, "hello".as_bytes());
        assert_eq!(client.storage_usage().await.unwrap().used_bytes, BLOCK);

        fleet.arm_failpoint("files_placed@upload", "");
        client.task_create(&with_attachment("two")).await.unwrap_err();
        die_at(&mut fleet, "files_placed@upload").await;
        let list = async || client.task_list(&TaskQuery::default()).await;
        assert_eq!(fleet.retry_while_unavailable(list).await.items.len(), 1);
        assert_eq!(client.storage_usage().await.unwrap().used_bytes, BLOCK);

        client.task_create(&with_attachment("two")).await.unwrap();
        let deleted = client.artifact_delete("one", &DeleteArtifacts::default()).await.unwrap();
        assert_eq!((deleted.files, deleted.freed_bytes), (1, BLOCK));
        assert_eq!(client.artifact_content("two", "in").await.unwrap(), "hello".as_bytes());
        assert_eq!(client.storage_usage().await.unwrap().used_bytes, BLOCK);
    }
}

#[tokio::test]
async fn a_node_that_dies_while_its_artifacts_are_rejected_reports_the_reason_after_its_restart() {
    let mut fleet = ProcessFleet::new(None);
    let config = "[orchestrator]\nmax_storage_mib_per_user = 1\n";
    fs::write(fleet.data().join("cynode.toml"), config).unwrap();
    let url = fleet.add_orchestrator(ORCHESTRATOR).await;
    fleet.add_runner("runner", &url, Duration::from_secs(1));
    fleet.add_node(NODE, &url).await;
    let client = fleet.client(&url);
    let line = "head -c 2000000 /dev/urandom > \"$CYNODE_ARTIFACTS_DIR/a.bin\"";
    fleet.arm_failpoint("result_arrived@job", "");
    let task = client.task_create(&commands(&[line])).await.unwrap();
    fleet.wait_for_failpoint("result_arrived@job").await;
    fleet.kill(NODE);
    fleet.start(NODE);

    let closed = fleet.wait_until_closed(&client, task.id).await;

    assert_eq!(closed.status.as_str(), "failed", "{closed:#?}");
    let summary = closed.summary.unwrap();
    assert!(summary.contains("a.bin") && summary.contains("limit of 1048576 bytes"), "{summary}");
    assert_eq!(client.storage_usage().await.unwrap().used_bytes, 0);
}
