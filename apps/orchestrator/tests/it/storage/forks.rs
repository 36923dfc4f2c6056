//! The files that a fork shares with the task that it comes from.

use cynode_domain::ids::JobId;
use cynode_wire::runs::{ForkRun, RetryRun};
use cynode_wire::tasks::TaskView;
use serde_json::json;

use super::{
    BLOCK, KIB, all_files, attachment, blob_files, collector, end_grace, used, with_user_limit,
};
use crate::actors::HarnessRunner;
use crate::harness::{OrchestratorHarness, refused, task_request};
use crate::runs::{fail, through_a_step};

/// A failed task with an attachment.
async fn failed_with_attachment(
    harness: &OrchestratorHarness,
    runner: &HarnessRunner,
    content: &[u8],
) -> TaskView {
    let body = json!({ "attachments": [attachment("in.txt", content)] });
    let task = harness.admin().task_create(&task_request(body)).await.unwrap();
    let lease = runner.claim(0).await.unwrap().lease;
    through_a_step(runner, lease, JobId::generate()).await;
    fail(runner, lease).await;
    task
}

pub(crate) async fn deleting_the_files_of_a_task_keeps_those_of_its_forks(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let task = failed_with_attachment(&harness, &runner, b"hello").await.task_name;
    let fork = ForkRun { sequence: 2, ..ForkRun::default() };
    let forked = admin.run_fork(&task, &fork).await.unwrap().run.task_name;
    assert_eq!(used(&admin).await, 2 * BLOCK);

    admin.artifact_delete(&task, &all_files()).await.unwrap();
    end_grace(&harness);
    collector(&harness).await.collect_all().await.unwrap();

    assert_eq!(used(&admin).await, BLOCK);
    let content = admin.artifact_content(&forked, "in.txt").await.unwrap();
    assert_eq!(content, "hello".as_bytes());
    for problem in [
        refused(admin.run_fork(&task, &fork).await, 409),
        refused(admin.run_retry(&task, &RetryRun::default()).await, 409),
    ] {
        let expected = format!("attachments of task \"{task}\" were deleted");
        assert!(problem.detail.starts_with(&expected), "{}", problem.detail);
    }
    // Once the fork has no files either, the content goes.
    admin.task_cancel(&forked).await.unwrap();
    admin.artifact_delete(&forked, &all_files()).await.unwrap();
    collector(&harness).await.collect_all().await.unwrap();
    assert_eq!((blob_files(&harness), used(&admin).await), ((0, 0), 0));
}

pub(crate) async fn a_fork_and_a_deletion_at_once_leave_no_fork_without_its_files(
    harness: OrchestratorHarness,
) {
    let (admin, runner) = (harness.admin(), harness.runner());
    let collector = collector(&harness).await;
    end_grace(&harness);
    for round in 0..8 {
        let content = format!("content {round}");
        let task = failed_with_attachment(&harness, &runner, content.as_bytes()).await.task_name;
        let fork = ForkRun { sequence: 2, ..ForkRun::default() };

        let deleting = async {
            admin.artifact_delete(&task, &all_files()).await.unwrap();
            collector.collect_all().await.unwrap();
        };
        let (forked, ()) = tokio::join!(admin.run_fork(&task, &fork), deleting);

        match forked {
            Ok(forked) => {
                let name = forked.run.task_name;
                let kept = admin.artifact_content(&name, "in.txt").await.unwrap();
                assert_eq!(kept, content.as_bytes());
                admin.task_cancel(&name).await.unwrap();
            }
            Err(error) => assert_eq!(error.status(), Some(409), "{error}"),
        }
    }
}

pub(crate) async fn a_fork_counts_its_attachments(harness: OrchestratorHarness) {
    let harness = with_user_limit(harness).await;
    let (admin, runner) = (harness.admin(), harness.runner());
    let task = failed_with_attachment(&harness, &runner, &vec![3; 600 * KIB]).await.task_name;

    let fork = ForkRun { sequence: 2, ..ForkRun::default() };
    let problem = refused(admin.run_fork(&task, &fork).await, 422);

    assert!(problem.detail.contains("max_storage_mib_per_user"), "{}", problem.detail);
    assert_eq!(used(&admin).await, 600 * 1024);
}
