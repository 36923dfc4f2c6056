//! Node incarnations: which process holds the name, and which workspaces its jobs use.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use cynode_domain::ids::TaskId;
use cynode_domain::job::JobEnding;
use cynode_wire::nodes::Assignment;

use crate::fake_orchestrator::InProcessNode;
use crate::testbed::NodeTestbed;
use crate::workbench::{command, eventually};

/// Copies the identity files of a node.
fn copy_state(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        if entry.file_type().unwrap().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_process_with_the_name_of_a_living_node_runs_nothing() {
    let stage = NodeTestbed::new().await;
    let first = stage.start_node().await;
    stage.fake.wait_for("a poll", |known| (!known.polls.is_empty()).then_some(())).await;
    let (fresh, copied) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    copy_state(&stage.state.path().join("node"), &copied.path().join("node"));
    let others = [
        InProcessNode::start(fresh.path(), stage.address).await,
        InProcessNode::start(copied.path(), stage.address).await,
    ];
    stage
        .fake
        .wait_for("both are rejected", |known| (known.rejected.len() > 1).then_some(()))
        .await;

    let jobs: Vec<_> = (0..6).map(|_| command("echo ran >> count")).collect();
    for job in &jobs {
        stage.fake.assign(job);
    }

    for job in &jobs {
        stage.fake.result_of(job.job_id).await;
        assert_eq!(fs::read_to_string(stage.workspace(job).join("count")).unwrap(), "ran\n");
        assert_eq!(stage.fake.state().results[&job.job_id].len(), 1);
    }
    for state in [&fresh, &copied] {
        let workspaces = fs::read_dir(state.path().join("node/workspaces")).unwrap();
        assert_eq!(workspaces.count(), 0);
    }
    for node in others {
        node.stop().await;
    }
    first.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_stopped_leaves_its_name_to_another_at_once() {
    let stage = NodeTestbed::new().await;
    let first = stage.start_node().await;
    stage.fake.wait_for("a poll", |known| (!known.polls.is_empty()).then_some(())).await;
    first.stop().await;
    let elsewhere = tempfile::tempdir().unwrap();

    let other = InProcessNode::start(elsewhere.path(), stage.address).await;

    let job = command("echo there");
    stage.fake.assign(&job);
    assert_eq!(stage.fake.result_of(job.job_id).await.stdout, "there\n");
    other.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_workspace_of_an_open_task_is_kept_and_that_of_a_closed_one_is_removed() {
    let stage = NodeTestbed::new().await;
    let workspaces = stage.state.path().join("node/workspaces");
    let (open, closed) = (TaskId::generate(), TaskId::generate());
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_hours(1);
    for task in [open, closed] {
        fs::create_dir_all(workspaces.join(task.to_string()).join("deep")).unwrap();
        // An earlier version recorded the last use of a workspace here.
        fs::File::create(workspaces.join(format!(".{task}")))
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
    }
    stage.fake.state().closed.insert(closed);

    let node = stage.start_node().await;

    let removed = workspaces.join(closed.to_string());
    tokio::task::block_in_place(|| {
        eventually("the closed task's is removed", || (!removed.exists()).then_some(()));
    });
    assert!(workspaces.join(open.to_string()).join("deep").exists());
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_goes_on_with_files_that_are_gone_does_not_start() {
    let stage = NodeTestbed::new().await;
    let node = stage.start_node().await;
    let first = command("echo kept > file");
    stage.fake.assign(&first);
    stage.fake.result_of(first.job_id).await;
    let next =
        |line: &str| Assignment { task_id: first.task_id, needs_workspace: true, ..command(line) };

    let second = next("cat file");
    stage.fake.assign(&second);
    assert_eq!(stage.fake.result_of(second.job_id).await.stdout, "kept\n");
    fs::remove_dir_all(stage.workspace(&first)).unwrap();
    let third = next("touch ran");
    stage.fake.assign(&third);

    let ending = stage.fake.result_of(third.job_id).await.ending;
    let JobEnding::NotStarted { reason } = ending else { panic!("{ending:?}") };
    assert!(reason.contains("is not on this node"), "{reason}");
    assert!(!stage.workspace(&third).exists());
    node.stop().await;
}
