//! A process that dies at any moment loses nothing and does nothing twice.

use std::sync::Arc;

use cynode_workflow::engine::Ended;
use cynode_workflow::state::RunState;

use crate::fake::{Attempt, Fake, Moment, drive_once, drive_to_end};

/// Two steps, the second of which succeeds at its second attempt.
fn task() -> Arc<Fake> {
    Fake::with_commands(&["make", "make test"]).attempt(1, 1, Attempt::bad())
}

/// Lets the process die at the n-th `moment`, starts another, and says how the task ended;
/// `None` when the run has no n-th such moment.
async fn with_crash_at(moment: Moment, nth: usize) -> Option<(Arc<Fake>, RunState)> {
    let fake = task();
    fake.crash_at(moment, nth);
    match drive_once(&fake).await {
        None => {}
        Some(Ok(Ended::Finished(_))) => return None,
        other => panic!("neither crashed nor finished: {other:?}"),
    }
    let state = drive_to_end(&fake).await;
    Some((fake, state))
}

/// The parts of an end that do not depend on ids.
fn essence(fake: &Fake, state: RunState) -> (Vec<String>, Vec<(u32, u32)>, RunState) {
    let mut state = state;
    state.task_id = "00000000-0000-0000-0000-000000000000".parse().unwrap();
    state.job = None;
    state.last_result = None;
    if let Some(revision) = &mut state.revision {
        revision.job_id = "00000000-0000-0000-0000-000000000000".parse().unwrap();
    }
    (fake.path(), fake.jobs(), state)
}

/// Crashes once at each occurrence of `moment`; gives their number.
async fn crash_everywhere(moment: Moment) -> usize {
    let calm = task();
    let state = drive_to_end(&calm).await;
    let expected = essence(&calm, state);
    let mut crashes = 0;
    while let Some((fake, state)) = with_crash_at(moment, crashes + 1).await {
        crashes += 1;
        assert_eq!(essence(&fake, state), expected, "after crash {crashes} at {moment:?}");
    }
    crashes
}

#[tokio::test(start_paused = true)]
async fn run_survives_a_crash_after_every_node() {
    // load, plan, and three times dispatch, collect and verify, and finalize.
    assert_eq!(crash_everywhere(Moment::AfterSave).await, 12);
}

#[tokio::test(start_paused = true)]
async fn nodes_may_be_repeated() {
    assert_eq!(crash_everywhere(Moment::BeforeSave).await, 12);
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_moment_of_an_effect_changes_nothing_in_the_end() {
    let effects = [Moment::AfterDispatch, Moment::AfterVerify, Moment::AfterRecord];
    let mut crashes = vec![];
    for moment in effects {
        crashes.push(crash_everywhere(moment).await);
    }
    assert_eq!(crashes, [3, 3, 6]);
}

#[tokio::test(start_paused = true)]
async fn a_recorded_effect_is_replayed_and_never_performed_again() {
    let fake = Fake::with_commands(&["make"]);
    fake.crash_at(Moment::AfterRecord, 1);
    assert!(drive_once(&fake).await.is_none());

    drive_to_end(&fake).await;

    assert_eq!(fake.calls("dispatch"), 1);
    assert_eq!(fake.jobs(), [(0, 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_died_before_its_checkpoint_does_not_repeat_its_effects() {
    let fake = Fake::with_commands(&["make"]);
    // The third transition is the one out of dispatch_step.
    fake.crash_at(Moment::BeforeSave, 3);
    assert!(drive_once(&fake).await.is_none());
    assert_eq!(fake.path(), ["load_task_context:loaded", "plan_steps:first_step"]);

    drive_to_end(&fake).await;

    assert_eq!(fake.calls("dispatch"), 1);
    assert_eq!(fake.calls("verify"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_crashes_its_runner_again_and_again_still_ends_once() {
    let fake = task();
    for moment in Moment::ALL {
        fake.crash_at(moment, 1);
        assert!(drive_once(&fake).await.is_none(), "no crash at {moment:?}");
    }

    drive_to_end(&fake).await;

    assert_eq!(fake.jobs(), [(0, 1), (1, 1), (1, 2)]);
    let ends = fake.world().history.iter().filter(|save| save.finish.is_some()).count();
    assert_eq!(ends, 1);
}
