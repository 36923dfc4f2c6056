//! Retry policies: the effect of preferences, the reaction to each error class, and the distinction of a
//! waiting node from a stuck one.

use std::collections::BTreeMap;
use std::time::Duration;

use cynode_domain::backoff::Backoff;
use cynode_domain::run_policy::RunPolicy;
use cynode_wire::workflow::Outcome;
use cynode_workflow::engine::{NodeRetryPolicy, WorkflowNodeError};
use cynode_workflow_state::{NodeErrorClass, NodeFailure};
use serde_json::json;
use tokio::time::Instant;

use crate::fake::{CrashPoint, FakeOrchestrator, drive_once, drive_to_end};

const BACKOFF: Backoff = Backoff { first: Duration::from_secs(1), cap: Duration::from_secs(30) };

/// A task with a non-default policy.
fn task_under(policy: RunPolicy) -> std::sync::Arc<FakeOrchestrator> {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().task.policy = policy;
    fake
}

#[test]
fn each_class_of_error_has_its_own_consequence() {
    let policy = NodeRetryPolicy { backoff: BACKOFF, ..NodeRetryPolicy::without_timeout() };
    let pause = |error: &WorkflowNodeError, failures| policy.delay_after(error.class(), failures);
    let within = |pause: Option<Duration>, seconds: u64| {
        let full = Duration::from_secs(seconds);
        pause.is_some_and(|pause| pause >= full / 2 && pause <= full)
    };
    let (away, garbled) =
        (WorkflowNodeError::Transient("x".into()), WorkflowNodeError::BadOutput("x".into()));

    // An unavailable service needs time to recover; an invalid response can be retried at once.
    assert!(within(pause(&away, 1), 1) && within(pause(&away, 4), 8));
    assert!(within(pause(&garbled, 1), 1) && within(pause(&garbled, 4), 1));
    for last in [
        WorkflowNodeError::Cancelled,
        WorkflowNodeError::LeaseLost,
        WorkflowNodeError::Denied("x".into()),
    ] {
        assert_eq!(pause(&last, 1), None, "{last:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn preferences_say_how_often_and_how_long_a_node_is_tried() {
    let preferences = json!({
        "workflow.node_retries.dispatch_step": 5,
        "workflow.node_timeouts.dispatch_step": 7,
        "workflow.node_backoff_ms": 100,
        "workflow.node_backoff_cap_ms": 100,
    });
    let preferences: BTreeMap<_, _> = serde_json::from_value(preferences).unwrap();
    let fake = task_under(RunPolicy::from_preferences(&preferences));
    fake.lock_state().unavailable = vec!["dispatch"];
    let began = Instant::now();

    let state = drive_to_end(&fake).await;

    let failure = state.failure.unwrap();
    assert_eq!((failure.node.as_str(), failure.attempts), ("dispatch_step", Some(5)));
    assert_eq!(failure.class, Some(NodeErrorClass::Transient));
    assert_eq!(failure.reason, "no result within 7 s");
    // Five times seven seconds, and at most a tenth of a second between them.
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(35) && took < Duration::from_secs(36), "{took:?}");
    assert_eq!(fake.finish().unwrap().outcome, Outcome::Failed);
}

#[tokio::test(start_paused = true)]
async fn the_policy_in_force_is_part_of_the_state_and_of_history() {
    let policy =
        RunPolicy { node_attempts: 9, notes: vec!["a note".into()], ..RunPolicy::default() };
    let fake = task_under(policy.clone());
    let preferences = BTreeMap::from([("output.summary_style".to_owned(), json!("concise"))]);
    fake.lock_state().task.preferences = preferences.clone();

    let state = drive_to_end(&fake).await;

    assert_eq!(**state.policy.as_ref().unwrap(), policy);
    assert_eq!(*state.preferences_effective, preferences);
    let world = fake.lock_state();
    let first = world.history[0].state.as_ref().unwrap();
    assert_eq!(first["policy"]["node_attempts"], 9);
    assert_eq!(first["policy"]["notes"], json!(["a note"]));
    assert_eq!(first["policy"]["timeouts_s"]["collect_result"], 600);
    // Later rows contain changes only, and the policy does not change.
    assert_eq!(world.history.iter().filter(|save| save.state.is_some()).count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_run_keeps_its_policy_when_preferences_change_while_it_is_put_down() {
    let mut policy = RunPolicy::default();
    policy.attempts_of.insert("dispatch_step".to_owned(), 1);
    let fake = task_under(policy);
    fake.crash_at(CrashPoint::AfterSave, 2);
    assert!(drive_once(&fake).await.is_none());
    fake.lock_state().task.policy = RunPolicy::default();
    fake.lock_state().unavailable = vec!["dispatch"];

    let state = drive_to_end(&fake).await;

    assert_eq!(state.failure.unwrap().attempts, Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_waits_is_not_stuck_while_it_hears_of_what_it_waits_for() {
    let policy = |seconds| {
        let mut policy = RunPolicy { node_attempts: 1, ..RunPolicy::default() };
        policy.timeouts_s.insert("collect_result".to_owned(), seconds);
        policy
    };
    let (heard, unheard) = (task_under(policy(60)), task_under(policy(60)));
    for fake in [&heard, &unheard] {
        fake.lock_state().job_takes = Duration::from_mins(30);
    }
    unheard.lock_state().unavailable = vec!["job"];

    drive_to_end(&heard).await;
    let stuck = drive_to_end(&unheard).await;

    assert_eq!(heard.finish().unwrap().outcome, Outcome::Completed);
    let failure = stuck.failure.unwrap();
    assert_eq!(
        (failure.node.as_str(), failure.reason.as_str()),
        ("collect_result", "no result within 60 s")
    );
}

#[tokio::test(start_paused = true)]
async fn a_verdict_is_waited_for_as_long_as_somebody_looks() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    // Half an hour, far longer than the heartbeat timeout of the node.
    fake.lock_state().verdict_takes = Duration::from_mins(30);

    drive_to_end(&fake).await;

    assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
    assert!(fake.call_count("verify") > 10, "{} calls", fake.call_count("verify"));
    // One answer each of dispatch and verification.
    assert_eq!(fake.call_count("effect"), 2);
}

#[test]
fn a_failure_without_a_class_is_still_read() {
    let old = json!({"node": "plan_steps", "reason": "no planner"});

    let failure: NodeFailure = serde_json::from_value(old).unwrap();

    assert_eq!((failure.class, failure.attempts), (None, None));
}
