//! A whole node against a fake orchestrator: jobs, restarts, outages.

use std::fs;

use cynode_domain::job::JobEnding;
use cynode_runtime::health::Readiness;
use cynode_wire::jobs::Stream;
use cynode_wire::nodes::Assignment;
use cynode_worker::agent::{NodeDaemon, NodeDaemonOptions};

use crate::fake_orchestrator::{options, received_log};
use crate::testbed::NodeTestbed;
use crate::workbench::{command, eventually, limits, processes_naming};

/// Creates `begun` in the workspace, and ends when the test creates `go`.
const UNTIL_GO: &str = "touch begun; while [ ! -e go ]; do sleep 0.02; done";

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_run_and_its_result_log_and_files_are_delivered() {
    let stage = NodeTestbed::new().await;
    let job = command(
        "echo hello; echo oops >&2; mkdir $CYNODE_ARTIFACTS_DIR/d; echo r > $CYNODE_ARTIFACTS_DIR/d/r.txt; ln -s /etc/passwd $CYNODE_ARTIFACTS_DIR/link; exit 3",
    );
    let node = stage.start_node().await;

    stage.fake.assign(&job);
    let result = stage.fake.result_of(job.job_id).await;

    assert_eq!(result.ending, JobEnding::Exited { code: 3 });
    assert_eq!((result.stdout.as_str(), result.stderr.as_str()), ("hello\n", "oops\n"));
    assert_eq!(received_log(&stage.fake.state(), job.job_id, Stream::Stdout), "hello\n");
    let files: Vec<_> = stage.fake.state().artifacts.clone().into_iter().collect();
    assert_eq!(files, [("d/r.txt".to_owned(), b"r\n".to_vec())]);
    node.stop().await;
    assert!(!stage.job_dir(job.job_id).exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn output_is_sent_while_the_job_runs() {
    let stage = NodeTestbed::new().await;
    let node = stage.start_node().await;
    let job = command("echo first; while [ ! -e go ]; do sleep 0.02; done; echo second");
    stage.fake.assign(&job);

    let id = job.job_id;
    stage
        .fake
        .wait_for("the first line", |known| {
            (received_log(known, id, Stream::Stdout) == "first\n").then_some(())
        })
        .await;
    fs::write(stage.workspace(&job).join("go"), "").unwrap();

    assert_eq!(stage.fake.result_of(id).await.stdout, "first\nsecond\n");
    assert_eq!(received_log(&stage.fake.state(), id, Stream::Stdout), "first\nsecond\n");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_assignment_that_comes_again_and_again_runs_once() {
    let stage = NodeTestbed::new().await;
    let node = stage.start_node().await;
    let job = command("echo run >> count");
    stage.fake.state().reassigns_everything = true;
    stage.fake.assign(&job);

    stage.fake.result_of(job.job_id).await;
    let seen = stage.fake.state().polls.len();
    stage.fake.wait_for("more polls", |known| (known.polls.len() > seen + 3).then_some(())).await;

    assert_eq!(fs::read_to_string(stage.workspace(&job).join("count")).unwrap(), "run\n");
    assert_eq!(stage.fake.state().results[&job.job_id].len(), 1);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_names_a_job_only_once_it_is_on_disk() {
    let stage = NodeTestbed::new().await;
    stage.fake.state().jobs_dir = stage.state.path().join("node/jobs");
    let node = stage.start_node().await;

    for _ in 0..10 {
        let jobs = [command("true"), command("true")];
        stage.fake.change(|known| {
            known.assigned.extend(jobs.iter().map(|job| (job.job_id, job.clone())));
        });
        for job in jobs {
            stage.fake.result_of(job.job_id).await;
        }
    }

    assert!(stage.fake.state().polls.iter().any(|poll| !poll.holding.is_empty()));
    assert_eq!(stage.fake.state().not_kept, [].into());
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attachments_are_in_the_workspace_before_the_job_starts() {
    let stage = NodeTestbed::new().await;
    let node = stage.start_node().await;
    stage.fake.state().attachments.insert("data.csv".to_owned(), b"1,2\n".to_vec());
    let attachments = vec!["data.csv".to_owned()];
    let job = Assignment {
        attachments,
        ..command("cat attachments/data.csv; echo 3 >> attachments/data.csv")
    };
    let missing = Assignment { attachments: vec!["nothing".to_owned()], ..command("true") };

    stage.fake.assign(&job);
    stage.fake.assign(&missing);

    let result = stage.fake.result_of(job.job_id).await;
    assert_eq!((result.stdout.as_str(), result.stderr.as_str()), ("1,2\n", ""));
    let result = stage.fake.result_of(missing.job_id).await;
    assert!(matches!(result.ending, JobEnding::NotStarted { .. }), "{result:?}");
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_canceled_job_is_delivered_as_canceled_and_a_forgotten_one_not_at_all() {
    let stage = NodeTestbed::new().await;
    let node = stage.start_node().await;
    let (canceled, forgotten) = (command("sleep 60"), command("sleep 60"));
    stage.fake.assign(&canceled);
    stage.fake.assign(&forgotten);
    let ids = [canceled.job_id, forgotten.job_id];
    stage
        .fake
        .wait_for("both jobs held", |known| {
            let last = known.polls.last()?;
            ids.iter().all(|id| last.holding.contains(id)).then_some(())
        })
        .await;

    stage.fake.change(|known| {
        known.cancel.insert(ids[0]);
        known.forget.insert(ids[1]);
        known.assigned.clear();
    });

    assert_eq!(stage.fake.result_of(ids[0]).await.ending, JobEnding::Canceled);
    stage
        .fake
        .wait_for("nothing held", |known| known.polls.last()?.holding.is_empty().then_some(()))
        .await;
    assert!(!stage.fake.state().results.contains_key(&ids[1]));
    assert!(!stage.job_dir(ids[1]).exists());
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_survives_the_orchestrators_absence_and_is_delivered_once() {
    let mut stage = NodeTestbed::new().await;
    let node = stage.start_node().await;
    let job = command(UNTIL_GO);
    stage.fake.assign(&job);
    let begun = stage.workspace(&job).join("begun");
    tokio::task::block_in_place(|| eventually("the start", || begun.exists().then_some(())));

    stage.served.take().unwrap().shut_down();
    fs::write(stage.workspace(&job).join("go"), "").unwrap();
    let outcome = stage.job_dir(job.job_id).join("outcome.json");
    tokio::task::block_in_place(|| eventually("the end", || outcome.exists().then_some(())));
    assert!(stage.fake.state().results.is_empty(), "it was not away");
    let (_, _served) = stage.fake.serve(stage.address).await;

    assert_eq!(stage.fake.result_of(job.job_id).await.ending, JobEnding::Exited { code: 0 });
    node.stop().await;
    assert_eq!(stage.fake.state().results[&job.job_id].len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_outlives_its_killed_node_and_the_next_one_delivers_it_once() {
    let stage = NodeTestbed::new().await;
    let mut first = stage.spawn_process();
    let job = command(&format!("echo run >> count; {UNTIL_GO}; echo end"));
    stage.fake.assign(&job);
    let begun = stage.workspace(&job).join("begun");
    tokio::task::block_in_place(|| eventually("the start", || begun.exists().then_some(())));

    first.kill();
    fs::write(stage.workspace(&job).join("go"), "").unwrap();
    let mut second = stage.spawn_process();
    let result = stage.fake.result_of(job.job_id).await;

    assert_eq!((result.ending, result.stdout.as_str()), (JobEnding::Exited { code: 0 }, "end\n"));
    assert_eq!(fs::read_to_string(stage.workspace(&job).join("count")).unwrap(), "run\n");
    assert!(second.stop());
    assert_eq!(stage.fake.state().results[&job.job_id].len(), 1);
    assert_eq!(stage.fake.state().registrations, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_told_to_stop_ends_its_jobs_and_delivers_them_as_interrupted() {
    let stage = NodeTestbed::new().await;
    let mut node = stage.spawn_process();
    let job = command("touch begun; sleep 60");
    stage.fake.assign(&job);
    let begun = stage.workspace(&job).join("begun");
    tokio::task::block_in_place(|| eventually("the start", || begun.exists().then_some(())));

    assert!(node.stop());
    // The next process delivers what this one could not deliver in time.
    let mut next = stage.spawn_process();

    let reason = "the worker node was stopped".to_owned();
    let result = stage.fake.result_of(job.job_id).await;
    assert_eq!(result.ending, JobEnding::Interrupted { reason });
    let another = command("true");
    stage.fake.assign(&another);
    stage.fake.result_of(another.job_id).await;
    assert!(next.stop());
    assert_eq!(processes_naming(stage.state.path()), [0_i32; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_token_is_refused_joins_again() {
    let stage = NodeTestbed::new().await;
    let node = stage.start_node().await;
    stage.fake.wait_for("a poll", |known| (!known.polls.is_empty()).then_some(())).await;

    stage.fake.change(|known| known.valid_from = known.registrations);
    let job = command("echo again");
    stage.fake.assign(&job);

    assert_eq!(stage.fake.result_of(job.job_id).await.stdout, "again\n");
    assert_eq!(stage.fake.state().registrations, 2);
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_runs_no_more_jobs_at_once_than_it_has_slots() {
    let stage = NodeTestbed::new().await;
    let node = stage.start_node().await;
    let jobs: Vec<_> = (0..6).map(|_| command("echo done")).collect();
    for job in &jobs {
        stage.fake.assign(job);
    }

    for job in &jobs {
        assert_eq!(stage.fake.result_of(job.job_id).await.stdout, "done\n");
    }
    assert!(stage.fake.state().polls.iter().all(|poll| poll.free_slots <= 2));
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn output_that_is_not_text_is_replaced_in_the_result() {
    let stage = NodeTestbed::new().await;
    let node = stage.start_node().await;
    let limits = cynode_domain::job::Limits { output_bytes: 5, ..limits() };
    let job = Assignment { limits, ..command("printf 'gr\\303\\274\\303\\274n'") };
    stage.fake.assign(&job);

    let result = stage.fake.result_of(job.job_id).await;

    assert_eq!((result.stdout.as_str(), result.truncated.stdout), ("grü", true));
    node.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_sandbox_lacks_a_required_feature_does_not_start() {
    for (feature, is_enforced) in [("seccomp", true), ("warp_drive", false)] {
        let state = tempfile::tempdir().unwrap();
        let required_features = vec!["pid_namespace".to_owned(), feature.to_owned()];
        let options = options(state.path(), ([127, 0, 0, 1], 9).into());
        let options = NodeDaemonOptions { required_features, ..options };

        let prepared = NodeDaemon::prepare(options, Readiness::new()).await;

        let message = prepared.err().map(|error| error.to_string());
        let is_named = |text: String| text.contains("does not enforce warp_drive, which --require");
        assert_eq!(message.map(is_named), (!is_enforced).then_some(true));
    }
}
