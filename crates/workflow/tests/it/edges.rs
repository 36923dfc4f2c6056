//! Every edge of the task graph, and the summary at its end.

use cynode_domain::job::{JobEnding, Limits};
use cynode_domain::status::JobStatus;
use cynode_domain::verdict::VerdictStatus;
use cynode_domain::verification::VerificationStatus;
use cynode_wire::workflow::{Finish, Outcome};
use cynode_workflow::engine::{DriveError, DriveOutcome};
use std::time::Duration;

use crate::fake::{FakeAttempt, FakeOrchestrator, drive_once, drive_to_end};

fn completed(summary: &str) -> Finish {
    let verification = Some(VerificationStatus::NotChecked);
    Finish { outcome: Outcome::Completed, summary: summary.to_owned(), verification }
}

fn failed(summary: &str) -> Finish {
    Finish { outcome: Outcome::Failed, summary: summary.to_owned(), verification: None }
}

#[tokio::test(start_paused = true)]
async fn every_command_is_dispatched_collected_and_verified_in_order() {
    let fake = FakeOrchestrator::with_commands(&["make", "make test"]);

    drive_to_end(&fake).await;

    assert_eq!(
        fake.transition_path(),
        [
            "load_task_context:loaded",
            "plan_steps:first_step",
            "dispatch_step:dispatched",
            "collect_result:collected",
            "verify_step_result:next_step",
            "dispatch_step:dispatched",
            "collect_result:collected",
            "verify_step_result:all_verified",
            "finalize_summary:finished",
        ]
    );
    assert_eq!(
        fake.finish().unwrap(),
        completed("2 commands exited with code 0; no acceptance criteria were given.")
    );
}

#[tokio::test(start_paused = true)]
async fn a_transition_names_the_step_and_job_it_was_about() {
    let fake = FakeOrchestrator::with_commands(&["make", "make test"]);

    drive_to_end(&fake).await;

    let world = fake.lock_state();
    let about: Vec<_> = world.history.iter().map(|save| save.step_index).collect();
    let [first, second] = [Some(0), Some(1)];
    assert_eq!(about, [None, None, first, first, first, second, second, second, None]);
    assert_eq!(world.history[4].job_id, world.history[2].job_id);
    assert_ne!(world.history[7].job_id, world.history[2].job_id);
}

#[tokio::test(start_paused = true)]
async fn a_plan_without_steps_is_finished_at_once() {
    let fake = FakeOrchestrator::with_commands(&[]);

    drive_to_end(&fake).await;

    assert_eq!(
        fake.transition_path(),
        ["load_task_context:loaded", "plan_steps:no_steps", "finalize_summary:finished"]
    );
    assert_eq!(fake.finish().unwrap(), completed("Nothing to do: the plan has no steps."));
}

#[tokio::test(start_paused = true)]
async fn a_rejected_step_runs_again_while_attempts_are_left() {
    let fake = FakeOrchestrator::with_commands(&["make"]).with_attempt(0, 1, FakeAttempt::bad());

    drive_to_end(&fake).await;

    assert_eq!(fake.transition_path()[4], "verify_step_result:retry_step");
    assert_eq!(fake.job_attempts(), [(0, 1), (0, 2)]);
    assert_eq!(
        fake.finish().unwrap(),
        completed("1 command exited with code 0 in 2 attempts; no acceptance criteria were given.")
    );
}

#[tokio::test(start_paused = true)]
async fn a_step_that_is_rejected_every_time_fails_the_task_with_its_finding() {
    let fake = FakeOrchestrator::with_commands(&["make", "make test"]);
    let fake =
        (1..=3).fold(fake, |fake, attempt| fake.with_attempt(1, attempt, FakeAttempt::bad()));

    drive_to_end(&fake).await;

    assert_eq!(fake.job_attempts(), [(0, 1), (1, 1), (1, 2), (1, 3)]);
    let path = fake.transition_path();
    let end = ["verify_step_result:no_retry_left", "mark_failed:finished"];
    assert_eq!(path[path.len() - 2..], end);
    assert_eq!(
        fake.finish().unwrap(),
        failed("Step 2 of 2 failed after 3 attempts: the command exited with code 3.")
    );
}

#[tokio::test(start_paused = true)]
async fn an_interrupted_step_is_not_run_again_unless_the_task_allows_it() {
    let careful =
        FakeOrchestrator::with_commands(&["make"]).with_attempt(0, 1, FakeAttempt::interrupted());
    let bold =
        FakeOrchestrator::with_commands(&["make"]).with_attempt(0, 1, FakeAttempt::interrupted());
    bold.lock_state().task.retry_interrupted = true;
    // It bounds failures; an interruption is not a failure.
    bold.lock_state().task.max_attempts = 1;
    let doomed = FakeOrchestrator::with_commands(&["make"]);
    doomed.lock_state().task = bold.lock_state().task.clone();
    for attempt in 1..5 {
        doomed.lock_state().attempts.insert((0, attempt), FakeAttempt::interrupted());
    }

    drive_to_end(&careful).await;
    drive_to_end(&bold).await;
    drive_to_end(&doomed).await;

    assert_eq!(careful.job_attempts(), [(0, 1)]);
    let summary = careful.finish().unwrap().summary;
    assert!(summary.ends_with("because it may have done part of its work."), "{summary}");
    assert_eq!(bold.job_attempts(), [(0, 1), (0, 2)]);
    assert_eq!(bold.finish().unwrap().outcome, Outcome::Completed);
    assert_eq!(doomed.job_attempts(), [(0, 1), (0, 2), (0, 3)]);
    assert_eq!(doomed.finish().unwrap().outcome, Outcome::Failed);
}

#[tokio::test(start_paused = true)]
async fn a_sandbox_that_did_not_start_may_be_tried_again() {
    let ending = JobEnding::NotStarted { reason: "no memory".to_owned() };
    let refused = FakeAttempt { status: JobStatus::Failed, ending, verdict: VerdictStatus::Fail };
    let fake = FakeOrchestrator::with_commands(&["make"]).with_attempt(0, 1, refused);

    drive_to_end(&fake).await;

    assert_eq!(fake.job_attempts(), [(0, 1), (0, 2)]);
}

#[tokio::test(start_paused = true)]
async fn a_canceled_job_stops_the_run_without_another_write() {
    let fake =
        FakeOrchestrator::with_commands(&["make"]).with_attempt(0, 1, FakeAttempt::canceled());

    let end = drive_once(&fake).await;

    assert_eq!(end, Some(Err(DriveError::Cancelled)));
    assert_eq!(fake.transition_path().last().unwrap(), "dispatch_step:dispatched");
    assert_eq!(fake.call_count("checkpoint"), 3);
}

#[tokio::test(start_paused = true)]
async fn a_job_may_take_as_long_as_its_own_limit() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().task.limits = Limits { timeout_s: 7200, ..Limits::default() };
    fake.lock_state().job_takes = Duration::from_secs(7100);

    drive_to_end(&fake).await;

    assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
    assert!(fake.call_count("job") <= 7100 / 20 + 1, "{} looks", fake.call_count("job"));
}

#[tokio::test(start_paused = true)]
async fn a_job_that_outlives_its_limit_and_reserve_fails_the_task() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().task.limits = Limits { timeout_s: 60, ..Limits::default() };
    fake.lock_state().job_takes = Duration::from_hours(1);

    drive_to_end(&fake).await;

    assert_eq!(fake.transition_path()[3], "collect_result:failed");
    assert_eq!(
        fake.finish().unwrap(),
        failed("The result of step 1 of 1 is missing: the job did not end within 180 s.")
    );
}

#[tokio::test(start_paused = true)]
async fn a_stale_hold_stops_the_run_without_another_write() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().job_takes = Duration::from_mins(1);
    let driven = drive_once(&fake);
    let stolen = async {
        tokio::time::sleep(Duration::from_secs(30)).await;
        fake.grant()
    };

    let (end, _) = tokio::join!(driven, stolen);

    assert_eq!(end, Some(Err(DriveError::LeaseLost)));
    assert_eq!(fake.transition_path().last().unwrap(), "dispatch_step:dispatched");
    // One call after the loss was rejected; none followed.
    assert_eq!(fake.call_count("checkpoint"), 4);
    assert_eq!(fake.call_count("verify"), 0);
}

#[tokio::test(start_paused = true)]
async fn an_orchestrator_that_is_away_for_a_while_costs_no_attempt() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().unavailable =
        vec!["task", "dispatch", "job", "verify", "checkpoint", "effect"];
    let driven = drive_once(&fake);
    let back = async {
        tokio::time::sleep(Duration::from_secs(12)).await;
        fake.lock_state().unavailable.clear();
    };

    let (end, ()) = tokio::join!(driven, back);

    assert!(matches!(end, Some(Ok(DriveOutcome::Finished(_)))), "{end:?}");
    assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_stays_away_uses_up_the_nodes_attempts() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().unavailable = vec!["verify"];

    drive_to_end(&fake).await;

    assert_eq!(fake.transition_path()[4], "verify_step_result:failed");
    assert_eq!(
        fake.finish().unwrap(),
        failed("Step 1 of 1 could not be verified: no result within 120 s.")
    );
}

#[tokio::test(start_paused = true)]
async fn a_transition_whose_answer_was_lost_is_sent_again_as_it_was() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().lost_responses = 6;

    drive_to_end(&fake).await;

    assert_eq!(fake.transition_path().len(), 6);
    assert_eq!(fake.call_count("checkpoint"), 12);
    assert_eq!(fake.job_attempts(), [(0, 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_dispatch_fails_the_task_with_the_orchestrators_reason() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().rejecting = vec!["dispatch"];

    drive_to_end(&fake).await;

    assert_eq!(fake.call_count("dispatch"), 1);
    assert_eq!(
        fake.transition_path()[2..],
        ["dispatch_step:failed".to_owned(), "mark_failed:finished".to_owned()]
    );
    assert_eq!(
        fake.finish().unwrap(),
        failed("Step 1 of 1 could not be dispatched: it is not allowed.")
    );
    let world = fake.lock_state();
    let about: Vec<_> = world.history[2..].iter().map(|s| (s.step_index, s.job_id)).collect();
    assert_eq!(about, [(Some(0), None), (Some(0), None)]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_checkpoint_stops_the_run() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().rejecting = vec!["checkpoint"];

    let end = drive_once(&fake).await;

    assert_eq!(end, Some(Err(DriveError::Rejected("it is not allowed".to_owned()))));
    assert_eq!(fake.call_count("checkpoint"), 1);
}
