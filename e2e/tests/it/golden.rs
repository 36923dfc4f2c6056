//! Databases as an earlier version left them: this version brings every run to its end.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cynode_testkit::{postgres_database, query};

use crate::fleet::Fleet;
use crate::history::assert_is_a_path;
use crate::work::patiently;

/// The worker node that the earlier version knew.
const ANVIL: &str = "anvil";
/// The tasks, and how they end.
const TASKS: [(&str, &str); 7] = [
    ("done", "completed"),
    ("broken", "failed"),
    ("stopped", "canceled"),
    ("half", "completed"),
    ("dispatched", "completed"),
    ("behind", "completed"),
    ("waiting", "completed"),
];

fn golden(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/store/tests/golden").join(file)
}

#[tokio::test]
async fn runs_of_an_earlier_version_are_resumed_to_their_end() {
    let fleet = Fleet::new(None);
    query(&fleet.database(), &fs::read_to_string(golden("0002.sqlite.sql")).unwrap()).await;
    resumed(fleet).await;
}

#[tokio::test]
async fn runs_of_an_earlier_version_are_resumed_to_their_end_on_postgres() {
    let database = postgres_database().await;
    query(&database.url, &fs::read_to_string(golden("0002.postgres.sql")).unwrap()).await;
    resumed(Fleet::new(Some(&database.url))).await;
}

async fn resumed(mut fleet: Fleet) {
    fs::copy(golden("admin.token"), fleet.data().join("admin.token")).unwrap();
    let sql = "SELECT run_id, sequence, node_id, edge, epoch FROM workflow_history
               ORDER BY run_id, sequence";
    let before = query(&fleet.database(), sql).await;
    // The earlier node's state directory is still there, with the workspace of every task that it worked on.
    let begun = "SELECT DISTINCT task_id FROM jobs WHERE started_at IS NOT NULL";
    for task in query(&fleet.database(), begun).await.concat() {
        fs::create_dir_all(fleet.node_state(ANVIL).join("workspaces").join(task)).unwrap();
    }
    let url = fleet.add_orchestrator("orchestrator").await;
    let client = fleet.client(&url);
    fleet.add_runner("runner", &url, Duration::from_secs(2));
    fleet.add_node(ANVIL, &url).await;
    patiently(async || client.node_enable(ANVIL).await).await;

    for (name, status) in TASKS {
        let task = patiently(async || client.task_get(name).await).await;
        let view = fleet.closed(&client, task.id).await;
        assert_eq!(view.status.as_str(), status, "{view:#?}");
        if status != "canceled" {
            assert_is_a_path(&patiently(async || client.task_history(name).await).await);
        }
    }

    let after = query(&fleet.database(), sql).await;
    for row in &before {
        assert!(after.contains(row), "history lost or changed {row:?}");
    }
    // Two steps of "half", of which the first ran under the earlier version.
    let half = patiently(async || client.task_result("half").await).await;
    let ran: Vec<_> = half.jobs.into_iter().map(|job| job.result.unwrap().stdout).collect();
    assert_eq!(ran, ["one\n", "two\n"]);
}
