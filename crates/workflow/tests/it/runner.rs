//! The runner service: slots, leases, fencing and shutdown.

use std::sync::Arc;
use std::time::Duration;

use cynode_runtime::health::Readiness;
use cynode_runtime::shutdown::Shutdown;
use cynode_wire::workflow::Outcome;
use cynode_workflow::runner::{WorkflowRunner, WorkflowRunnerOptions};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use crate::fake::{CrashPoint, FakeOrchestrator, drive_once};

const HOUR: Duration = Duration::from_hours(1);

fn runner(fake: &Arc<FakeOrchestrator>) -> WorkflowRunner {
    let options = WorkflowRunnerOptions {
        lease: Duration::from_secs(15),
        ..WorkflowRunnerOptions::default()
    };
    WorkflowRunner::new(Arc::clone(fake) as _, options, Readiness::new())
}

/// Runs a runner while `story` executes, then stops it; returns how long the stop took.
async fn while_running(fake: &Arc<FakeOrchestrator>, story: impl Future<Output = ()>) -> Duration {
    let shutdown = Shutdown::new();
    let reported = async {
        story.await;
        shutdown.trigger();
        Instant::now()
    };
    let running = timeout(HOUR, runner(fake).run(shutdown.clone()));
    let (ended, request) = tokio::join!(running, reported);
    ended.unwrap().unwrap();
    request.elapsed()
}

async fn seconds(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_claimed_task_is_driven_to_its_end_with_no_call_after_it() {
    let fake = FakeOrchestrator::with_commands(&["make"]);

    while_running(&fake, seconds(5)).await;

    assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
    assert_eq!(fake.call_count("release"), 0);
    assert_eq!(fake.call_count("renew"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_at_a_third_of_its_life_while_the_job_runs() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().job_takes = Duration::from_secs(61);

    while_running(&fake, seconds(70)).await;

    assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
    assert_eq!(fake.call_count("renew"), 12);
}

#[tokio::test(start_paused = true)]
async fn a_refused_renewal_stops_the_run_at_once() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().job_takes = Duration::from_mins(1);
    let stolen = async {
        seconds(7).await;
        fake.grant();
        seconds(200).await;
    };

    while_running(&fake, stolen).await;

    assert_eq!(fake.transition_path().last().unwrap(), "dispatch_step:dispatched");
    assert_eq!(fake.call_count("checkpoint"), 3);
    assert_eq!(fake.call_count("renew"), 2);
    assert_eq!(fake.call_count("release"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_cannot_be_renewed_ends_by_the_runners_own_clock() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().job_takes = Duration::from_secs(100);
    let lost = async {
        seconds(6).await;
        fake.lock_state().unavailable = vec!["renew"];
        seconds(16).await;
        let renewals = fake.call_count("renew");
        seconds(100).await;
        assert_eq!(
            fake.call_count("renew"),
            renewals,
            "nothing is tried after the lease has ended"
        );
    };

    while_running(&fake, lost).await;

    assert_eq!(fake.transition_path().last().unwrap(), "dispatch_step:dispatched");
}

#[tokio::test(start_paused = true)]
async fn an_orchestrator_that_restarts_within_the_lease_is_not_noticed_by_the_task() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().job_takes = Duration::from_secs(20);
    let restart = async {
        seconds(4).await;
        fake.lock_state().unavailable =
            vec!["claim", "renew", "task", "dispatch", "job", "verify", "checkpoint", "effect"];
        seconds(9).await;
        fake.lock_state().unavailable.clear();
        seconds(60).await;
    };

    while_running(&fake, restart).await;

    assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
    assert_eq!(fake.lock_state().epoch, 1);
}

#[tokio::test(start_paused = true)]
async fn a_stopping_runner_gives_its_lease_up_so_that_another_goes_on_at_once() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().job_takes = Duration::from_secs(30);

    let took = while_running(&fake, seconds(5)).await;

    assert!(took >= Duration::from_secs(3) && took < Duration::from_secs(4), "{took:?}");
    assert_eq!(fake.call_count("release"), 1);
    assert_eq!(fake.lock_state().lease, None);

    while_running(&fake, seconds(40)).await;

    assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
    assert_eq!(fake.job_attempts(), [(0, 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_ends_within_the_grace_reaches_its_checkpoint_before_the_release() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().job_takes = Duration::from_secs(6);

    let took = while_running(&fake, seconds(5)).await;

    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(fake.transition_path().last().unwrap(), "collect_result:collected");
    assert_eq!(fake.lock_state().lease, None);
}

#[tokio::test(start_paused = true)]
async fn no_task_is_claimed_while_every_slot_is_taken() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().job_takes = Duration::from_mins(5);
    let options = WorkflowRunnerOptions { slots: 1, ..WorkflowRunnerOptions::default() };
    let shutdown = Shutdown::new();
    let one = WorkflowRunner::new(Arc::clone(&fake) as _, options, Readiness::new());
    let story = async {
        seconds(250).await;
        assert_eq!(fake.call_count("claim"), 1);
        shutdown.trigger();
    };

    tokio::join!(one.run(shutdown.clone()), story).0.unwrap();

    assert_eq!(fake.call_count("claim"), 1);
}

#[tokio::test(start_paused = true)]
async fn claims_slow_down_while_the_orchestrator_is_away() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().unavailable = vec!["claim"];
    let away = async {
        seconds(100).await;
        let claims = fake.call_count("claim");
        assert!((20..60).contains(&claims), "{claims} claims in 100 s");
        fake.lock_state().unavailable.clear();
        seconds(10).await;
    };

    while_running(&fake, away).await;

    assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_runner_is_ready_only_while_the_orchestrator_answers_its_claims() {
    let fake = FakeOrchestrator::with_commands(&[]);
    fake.lock_state().unavailable = vec!["claim"];
    let readiness = Readiness::new();
    let shutdown = Shutdown::new();
    let runner = WorkflowRunner::new(
        Arc::clone(&fake) as _,
        WorkflowRunnerOptions::default(),
        readiness.clone(),
    );
    let story = async {
        seconds(1).await;
        assert!(!readiness.view().ready);
        fake.lock_state().unavailable.clear();
        seconds(30).await;
        assert!(readiness.view().ready);
        shutdown.trigger();
    };

    tokio::join!(runner.run(shutdown.clone()), story).0.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_checkpoint_of_a_newer_graph_is_given_back_with_the_reason() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.crash_at(CrashPoint::AfterSave, 2);
    assert!(drive_once(&fake).await.is_none());
    {
        let mut world = fake.lock_state();
        world.lease = None;
        world.checkpoint.as_mut().unwrap().state["graph_version"] = json!(99);
    }

    while_running(&fake, seconds(5)).await;

    let expected = "the checkpoint has graph version 99; this runner supports 1 to 6";
    assert_eq!(fake.lock_state().suspend_reason.as_deref(), Some(expected));
    assert_eq!((fake.call_count("release"), fake.transition_path().len()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn transitions_keep_the_lease_so_that_only_long_nodes_renew_it() {
    let commands: Vec<String> = (0..20).map(|number| format!("step {number}")).collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let fake = FakeOrchestrator::with_commands(&commands);
    fake.lock_state().job_takes = Duration::from_secs(3);

    while_running(&fake, seconds(90)).await;

    assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
    assert_eq!(fake.call_count("renew"), 0);
}
