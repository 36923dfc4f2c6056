//! The collection of unused content.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use crate::harness::{OrchestratorHarness, refused, task_request};
use crate::storage::{all_files, attachment, blob_files, collector, end_grace, take_job};

fn blob_path(harness: &OrchestratorHarness, sha256: &str) -> PathBuf {
    harness.data_dir().join("blobs").join(&sha256[..2]).join(&sha256[2..])
}

/// From here on, that of temporary files too.
fn end_grace_of_leftovers(harness: &OrchestratorHarness) {
    harness.clock.advance(Duration::from_hours(25));
}

pub(crate) async fn unused_content_is_collected_after_its_grace_period(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let create = async |name: &str, content: &[u8]| {
        let body = json!({ "task_name": name, "attachments": [attachment("in", content)] });
        admin.task_create(&task_request(body)).await.unwrap();
        admin.task_cancel(name).await.unwrap();
    };
    create("one", b"shared").await;
    create("two", b"shared").await;
    create("three", b"single").await;
    for task in ["one", "three"] {
        admin.artifact_delete(task, &all_files()).await.unwrap();
    }
    let collector = collector(&harness).await;
    let young = harness.data_dir().join("blobs/incoming/young");
    std::fs::write(&young, "part of an upload").unwrap();

    collector.collect_all().await.unwrap();
    assert_eq!(blob_files(&harness), (2, 1), "all are younger than the grace period");
    end_grace(&harness);
    let (one, other) = tokio::join!(collector.collect_all(), collector.collect_all());
    one.unwrap();
    other.unwrap();

    assert_eq!(blob_files(&harness), (1, 1));
    end_grace_of_leftovers(&harness);
    collector.collect_all().await.unwrap();
    assert_eq!(blob_files(&harness), (1, 0));
    assert_eq!(admin.artifact_content("two", "in").await.unwrap(), "shared".as_bytes());
    // Content that was collected is stored again.
    create("four", b"single").await;
    assert_eq!(admin.artifact_content("four", "in").await.unwrap(), "single".as_bytes());
}

pub(crate) async fn content_that_is_uploaded_while_it_is_collected_is_kept(
    harness: OrchestratorHarness,
) {
    let (runner, node, admin) = (harness.runner(), harness.node("anvil").await, harness.admin());
    let taken = take_job((&runner, &node), &admin, json!({})).await;
    let put = async |path: &str, content: String| {
        node.client.node_put_artifact(taken.job, path, content.into()).await.unwrap();
    };
    let collector = collector(&harness).await;
    // Without the grace period, the locks alone protect an upload.
    end_grace(&harness);
    for round in 0..25 {
        let content = format!("content {round}");
        put("draft", content.clone()).await;
        put("draft", "nothing".to_owned()).await;

        let path = format!("kept-{round}");
        let collecting = async {
            for _ in 0..3 {
                collector.collect_all().await.unwrap();
            }
        };
        tokio::join!(collecting, put(&path, content.clone()));

        let kept = admin.artifact_content(&taken.task.task_name, &path).await.unwrap();
        assert_eq!(kept, content.as_bytes());
    }
    collector.collect_all().await.unwrap();
    assert_eq!(blob_files(&harness), (26, 0));
    node.end(taken.job, 0).await.unwrap();
}

pub(crate) async fn content_that_a_killed_process_left_aside_is_restored(
    harness: OrchestratorHarness,
) {
    let admin = harness.admin();
    let body = json!({ "task_name": "one", "attachments": [attachment("in", b"hello")] });
    admin.task_create(&task_request(body)).await.unwrap();
    let sha256 = admin.artifact_list("one").await.unwrap().remove(0).sha256;
    let aside = |number: u8| {
        let name = format!("{sha256}-00000000-0000-7000-8000-00000000000{number}");
        harness.data_dir().join("blobs/incoming").join(name)
    };
    std::fs::rename(blob_path(&harness, &sha256), aside(1)).unwrap();
    std::fs::copy(aside(1), aside(2)).unwrap();
    refused(admin.artifact_content("one", "in").await, 404);

    let collector = collector(&harness).await;
    collector.collect_all().await.unwrap();
    assert_eq!(admin.artifact_content("one", "in").await.unwrap(), "hello".as_bytes());
    end_grace_of_leftovers(&harness);
    collector.collect_all().await.unwrap();

    assert_eq!(admin.artifact_content("one", "in").await.unwrap(), "hello".as_bytes());
    assert_eq!(blob_files(&harness), (1, 0));
}

pub(crate) async fn content_of_another_database_is_not_collected(harness: OrchestratorHarness) {
    let admin = harness.admin();
    let body = json!({ "task_name": "one", "attachments": [attachment("in", b"hello")] });
    admin.task_create(&task_request(body)).await.unwrap();
    admin.task_cancel("one").await.unwrap();
    admin.artifact_delete("one", &all_files()).await.unwrap();
    end_grace(&harness);
    let marker = harness.data_dir().join("blobs/database.id");
    std::fs::write(&marker, "another").unwrap();
    let collector = collector(&harness).await;

    let rejected = collector.collect_all().await.unwrap_err().to_string();

    assert!(rejected.contains("belong to another database"), "{rejected}");
    assert_eq!(blob_files(&harness), (1, 0));
    std::fs::remove_file(&marker).unwrap();
    // Without its name, a directory of which the database uses nothing belongs to another one.
    collector.collect_all().await.unwrap_err();
    assert_eq!(blob_files(&harness), (1, 0));
    let body = json!({ "task_name": "two", "attachments": [attachment("in", b"world")] });
    admin.task_create(&task_request(body)).await.unwrap();
    end_grace(&harness);
    collector.collect_all().await.unwrap();
    assert_eq!(blob_files(&harness), (1, 0));
    assert_eq!(admin.artifact_content("two", "in").await.unwrap(), "world".as_bytes());
}
