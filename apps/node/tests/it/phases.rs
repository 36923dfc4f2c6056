//! Phases before a job's command starts and after it has ended: bounded, cancellable, reported.

use std::fs;

use cynode_domain::job::{JobEnding, Limits};
use cynode_wire::nodes::Assignment;

use crate::testbed::NodeTestbed;
use crate::workbench::{command, eventually, limits};

/// Limits with a short timeout.
fn short_limits() -> Limits {
    Limits { timeout_s: 1, ..limits() }
}

fn with_attachment(name: &str, limits: Limits) -> Assignment {
    Assignment { attachments: vec![name.to_owned()], limits, ..command("true") }
}

#[tokio::test(flavor = "multi_thread")]
async fn attachments_that_cannot_be_fetched_block_no_slot_for_ever() {
    let stage = NodeTestbed::new().await;
    stage.fake.state().broken.insert("broken".to_owned());
    let node = stage.start_node().await;
    // One job per slot.
    let (canceled, timed_out) =
        (with_attachment("broken", limits()), with_attachment("broken", short_limits()));
    stage.fake.assign(&canceled);
    stage.fake.assign(&timed_out);
    stage.fake.wait_for("both are tried", |known| (known.failures > 2).then_some(())).await;

    stage.fake.change(|known| {
        known.cancel.insert(canceled.job_id);
    });

    assert_eq!(stage.fake.result_of(canceled.job_id).await.ending, JobEnding::Canceled);
    let ending = stage.fake.result_of(timed_out.job_id).await.ending;
    let JobEnding::NotStarted { reason } = ending else { panic!("{ending:?}") };
    assert!(reason.contains("attachment"), "{reason}");
    let next = [command("echo a"), command("echo b")];
    for job in &next {
        stage.fake.assign(job);
        assert_eq!(stage.fake.result_of(job.job_id).await.ending, JobEnding::Exited { code: 0 });
    }
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_stored_is_reported_instead_of_left_out() {
    let stage = NodeTestbed::new().await;
    stage.fake.state().broken.insert("out.txt".to_owned());
    let node = stage.start_node().await;
    let line = "echo x > $CYNODE_ARTIFACTS_DIR/out.txt";
    let (failing, canceled) =
        (Assignment { limits: short_limits(), ..command(line) }, command(line));
    stage.fake.assign(&failing);

    let ending = stage.fake.result_of(failing.job_id).await.ending;
    let JobEnding::Interrupted { reason } = ending else { panic!("{ending:?}") };
    assert!(reason.contains("artifact out.txt could not be stored"), "{reason}");

    // Its command has ended, but the upload can still be canceled.
    stage.fake.assign(&canceled);
    let before = stage.fake.state().failures;
    stage.fake.wait_for("an upload", |known| (known.failures > before).then_some(())).await;
    stage.fake.change(|known| {
        known.cancel.insert(canceled.job_id);
    });
    assert_eq!(stage.fake.result_of(canceled.job_id).await.ending, JobEnding::Canceled);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_attempt_starts_when_nothing_of_the_old_one_is_left() {
    let stage = NodeTestbed::new().await;
    let node = stage.start_node().await;
    // The job and its child ignore SIGTERM.
    let old = command("trap '' TERM; touch begun; (while :; do echo x >> beat; sleep 0.01; done)");
    stage.fake.assign(&old);
    let begun = stage.workspace(&old).join("begun");
    tokio::task::block_in_place(|| eventually("the start", || begun.exists().then_some(())));
    let line = "wc -c < beat; sleep 0.3; wc -c < beat";
    let new = Assignment { task_id: old.task_id, ..command(line) };

    // As after a lost node: the old attempt is forgotten and the next one is assigned.
    stage.fake.change(|known| {
        known.forget.insert(old.job_id);
        known.assigned.remove(&old.job_id);
        known.assigned.insert(new.job_id, new.clone());
    });

    let result = stage.fake.result_of(new.job_id).await;
    let sizes: Vec<_> = result.stdout.lines().collect();
    assert_eq!(sizes.len(), 2, "{result:?}");
    assert_eq!(sizes[0], sizes[1], "the old attempt still wrote");
    assert!(fs::metadata(stage.workspace(&old).join("beat")).unwrap().len() > 0);
    node.stop().await;
}
