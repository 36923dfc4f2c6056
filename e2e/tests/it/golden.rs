//! Databases of an earlier version: this version completes every run.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cynode_testkit::{postgres_database, query};

use crate::fleet::ProcessFleet;
use crate::history::assert_is_a_path;
use crate::work::retry_while_unavailable;

/// The worker node of the earlier version.
const ANVIL: &str = "anvil";
/// The tasks, and their outcomes.
const TASKS: [(&str, &str); 7] = [
    ("done", "completed"),
    ("broken", "failed"),
    ("stopped", "canceled"),
    ("half", "completed"),
    ("dispatched", "completed"),
    ("behind", "completed"),
    ("waiting", "completed"),
];

fn golden_file(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/store/tests/golden").join(file)
}

#[tokio::test]
async fn runs_of_an_earlier_version_are_resumed_to_their_end() {
    let fleet = ProcessFleet::new(None);
    query(&fleet.database(), &fs::read_to_string(golden_file("0002.sqlite.sql")).unwrap()).await;
    assert_runs_resume(fleet).await;
}

#[tokio::test]
async fn runs_of_an_earlier_version_are_resumed_to_their_end_on_postgres() {
    let database = postgres_database().await;
    query(&database.url, &fs::read_to_string(golden_file("0002.postgres.sql")).unwrap()).await;
    assert_runs_resume(ProcessFleet::new(Some(&database.url))).await;
}

async fn assert_runs_resume(mut fleet: ProcessFleet) {
    fs::copy(golden_file("admin.token"), fleet.data().join("admin.token")).unwrap();
    let sql = "SELECT run_id, sequence, node_id, edge, epoch FROM workflow_history
               ORDER BY run_id, sequence";
    let before = query(&fleet.database(), sql).await;
    // The earlier node's state directory still exists, with the workspaces of its tasks.
    let begun = "SELECT DISTINCT task_id FROM jobs WHERE started_at IS NOT NULL";
    for task in query(&fleet.database(), begun).await.concat() {
        fs::create_dir_all(fleet.node_state(ANVIL).join("workspaces").join(task)).unwrap();
    }
    let url = fleet.add_orchestrator("orchestrator").await;
    let client = fleet.client(&url);
    fleet.add_runner("runner", &url, Duration::from_secs(2));
    fleet.add_node(ANVIL, &url).await;
    retry_while_unavailable(async || client.node_enable(ANVIL).await).await;

    for (name, status) in TASKS {
        let task = retry_while_unavailable(async || client.task_get(name).await).await;
        let view = fleet.wait_until_closed(&client, task.id).await;
        assert_eq!(view.status.as_str(), status, "{view:#?}");
        if status != "canceled" {
            assert_is_a_path(
                &retry_while_unavailable(async || client.task_history(name).await).await,
            );
        }
    }

    let after = query(&fleet.database(), sql).await;
    for row in &before {
        assert!(after.contains(row), "history lost or changed {row:?}");
    }
    // Two steps of "half", of which the first ran under the earlier version.
    let half = retry_while_unavailable(async || client.task_result("half").await).await;
    let ran: Vec<_> = half.jobs.into_iter().map(|job| job.result.unwrap().stdout).collect();
    assert_eq!(ran, ["one\n", "two\n"]);
}
