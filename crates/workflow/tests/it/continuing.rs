//! Stalled runs: who decides how they continue, and how often.

use std::sync::Arc;

use cynode_domain::criteria::Criterion;
use cynode_domain::job::JobEnding;
use cynode_domain::plan::StepCriterion;
use cynode_domain::question::{Answer, Question, QuestionKind, Reply, ReplyForm};
use cynode_domain::status::JobStatus;
use cynode_domain::verdict::VerdictStatus;
use cynode_domain::verification::VerificationStatus;
use cynode_wire::continuing::ContinuationView;
use cynode_wire::handoff::ContinueWith;
use cynode_wire::workflow::{EffectView, Outcome};
use cynode_workflow::engine::{DriveError, NodeQuestion};
use serde_json::json;

use crate::fake::{CrashPoint, FakeAttempt, FakeOrchestrator, drive_once, drive_to_end};

fn settled_view(with: ContinueWith) -> ContinuationView {
    ContinuationView::Settled { with, reason: "so it was decided".to_owned() }
}

fn unstarted_attempt() -> FakeAttempt {
    let ending = JobEnding::NotStarted { reason: "no memory".to_owned() };
    FakeAttempt { status: JobStatus::Failed, ending, verdict: VerdictStatus::Fail }
}

/// One step with one attempt and this result; later attempts succeed.
fn stalled_task(goes: FakeAttempt, with: ContinueWith) -> Arc<FakeOrchestrator> {
    let fake = FakeOrchestrator::with_commands(&["make"]).with_attempt(0, 1, goes);
    let mut world = fake.lock_state();
    world.task.max_attempts = 1;
    world.continuation = Some(settled_view(with));
    drop(world);
    fake
}

async fn pending_question(fake: &Arc<FakeOrchestrator>) -> Box<NodeQuestion> {
    match drive_once(fake).await {
        Some(Err(DriveError::NeedsAnswer(ask))) => ask,
        other => panic!("nothing was asked: {other:?}"),
    }
}

fn record_answer(fake: &FakeOrchestrator, ask: &NodeQuestion, reply: Option<Reply>) {
    let answer = json!(Answer { reply, comment: None, by: Some("ada".to_owned()) });
    fake.lock_state().effects.push(EffectView { key: ask.key.clone(), answer });
}

#[tokio::test(start_paused = true)]
async fn a_step_runs_again_if_that_was_decided() {
    let fake = stalled_task(FakeAttempt::interrupted(), ContinueWith::Retry);

    let state = drive_to_end(&fake).await;

    assert_eq!(fake.job_attempts(), [(0, 1), (0, 2)]);
    assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
    assert_eq!(fake.call_count("continuation"), 1);
    assert_eq!(state.continuation.unwrap().number, 1);
    assert!(fake.transition_path().contains(&"verify_step_result:retry_step".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_person_says_whether_a_step_runs_again() {
    for (reply, jobs, words) in [
        (Some(Reply::Yes {}), 2, "1 command exited with code 0 in 2 attempts"),
        (Some(Reply::No {}), 1, "It was not run again: declined by ada."),
        (None, 1, "It was not run again: no answer in time."),
    ] {
        let fake = stalled_task(FakeAttempt::interrupted(), ContinueWith::AskPerson);

        let ask = pending_question(&fake).await;
        let again = pending_question(&fake).await;
        record_answer(&fake, &ask, reply);
        drive_to_end(&fake).await;

        let question: Question = serde_json::from_value(ask.question.clone()).unwrap();
        assert_eq!(
            (ask.node.as_str(), question.kind),
            ("verify_step_result", QuestionKind::Approval)
        );
        assert!(question.text.ends_with("so it was decided. Run it again?"));
        assert_eq!((question.about, question.accepts.len()), (vec!["1. make".to_owned()], 2));
        assert!(question.accepts.contains(&ReplyForm::No));
        assert_eq!((again, fake.call_count("continuation")), (ask, 1));
        assert_eq!(fake.job_attempts().len(), jobs);
        let summary = fake.finish().unwrap().summary;
        assert!(summary.contains(words), "{summary}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_that_failed_by_itself_is_nobodys_to_decide() {
    let fake = stalled_task(FakeAttempt::bad(), ContinueWith::Retry);

    drive_to_end(&fake).await;

    assert_eq!((fake.call_count("continuation"), fake.job_attempts().len()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_step_with_attempts_left_is_nobodys_to_decide() {
    let fake = stalled_task(unstarted_attempt(), ContinueWith::GiveUp);
    fake.lock_state().task.max_attempts = 2;

    drive_to_end(&fake).await;

    assert_eq!((fake.call_count("continuation"), fake.job_attempts().len()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_result_that_was_refused_is_not_taken_whoever_says_so() {
    for with in [ContinueWith::Continue, ContinueWith::GiveUp] {
        let fake = stalled_task(unstarted_attempt(), with);

        drive_to_end(&fake).await;

        assert_eq!(fake.finish().unwrap().outcome, Outcome::Failed);
        assert_eq!(fake.job_attempts().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn who_decides_is_told_how_often_the_run_went_on() {
    let fake = stalled_task(unstarted_attempt(), ContinueWith::Retry);
    fake.with_attempt(0, 2, unstarted_attempt()).with_attempt(0, 3, unstarted_attempt());

    drive_to_end(&fake).await;

    assert_eq!(fake.lock_state().continued, [0, 1, 2]);
    assert_eq!(fake.job_attempts().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_decision_survives_a_crash_at_every_moment() {
    for moment in CrashPoint::ALL {
        for nth in 1..12 {
            let fake = stalled_task(FakeAttempt::interrupted(), ContinueWith::Retry);
            fake.crash_at(moment, nth);
            if drive_once(&fake).await.is_none() {
                drive_to_end(&fake).await;
            }

            assert_eq!(fake.job_attempts(), [(0, 1), (0, 2)], "{moment:?} {nth}");
            assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
        }
    }
}

/// A step whose command succeeded, with this verdict.
fn successful_attempt(verdict: VerdictStatus) -> FakeAttempt {
    let ending = JobEnding::Exited { code: 0 };
    FakeAttempt { status: JobStatus::Completed, ending, verdict }
}

#[tokio::test(start_paused = true)]
async fn a_person_is_asked_about_every_criterion_that_nobody_judged() {
    for (reply, outcome, words) in [
        (Some(Reply::Yes {}), Outcome::Completed, "2 acceptance criteria are met: 2 by a person"),
        (Some(Reply::No {}), Outcome::Failed, "it reads well (declined by ada)"),
        (None, Outcome::Failed, "no answer in time"),
    ] {
        let fake = stalled_task(successful_attempt(VerdictStatus::Unclear), ContinueWith::Retry);

        let ask = pending_question(&fake).await;
        let again = pending_question(&fake).await;
        record_answer(&fake, &ask, reply);
        drive_to_end(&fake).await;

        let question: Question = serde_json::from_value(ask.question.clone()).unwrap();
        assert_eq!(question.kind, QuestionKind::Approval);
        assert!(question.text.contains("2 acceptance criteria could not be judged"));
        let expected =
            ["1. make", "not judged: it reads well", "not judged: it is short (no model)"];
        assert_eq!(question.about, expected);
        assert_eq!(question.accepts, [ReplyForm::Yes, ReplyForm::No, ReplyForm::Retry]);
        assert_eq!((again, fake.call_count("continuation")), (ask, 0));
        let finish = fake.finish().unwrap();
        assert_eq!((finish.outcome, fake.job_attempts().len()), (outcome, 1), "{}", finish.summary);
        assert!(finish.summary.contains(words), "{}", finish.summary);
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_is_judged_again_if_a_person_says_so_and_its_command_does_not_run_again() {
    let fake = stalled_task(successful_attempt(VerdictStatus::Unclear), ContinueWith::GiveUp);

    let first = pending_question(&fake).await;
    record_answer(&fake, &first, Some(Reply::Retry {}));
    let second = pending_question(&fake).await;
    fake.with_attempt(0, 1, successful_attempt(VerdictStatus::Pass));
    record_answer(&fake, &second, Some(Reply::Retry {}));
    drive_to_end(&fake).await;

    assert_ne!(first.key, second.key);
    assert_eq!((fake.call_count("verify"), fake.job_attempts().len()), (3, 1));
    assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_a_preference_accepts_unjudged_says_that_it_is_unverified() {
    let fake = stalled_task(successful_attempt(VerdictStatus::Unverified), ContinueWith::Retry);

    drive_to_end(&fake).await;

    let finish = fake.finish().unwrap();
    assert_eq!(finish.outcome, Outcome::Completed);
    assert_eq!(finish.verification, Some(VerificationStatus::Unverified));
    assert!(finish.summary.starts_with("Unverified: "), "{}", finish.summary);
    assert!(finish.summary.contains("it is short (no model)"), "{}", finish.summary);
}

fn prose_criterion() -> Criterion {
    Criterion::Text { description: "it reads well".to_owned() }
}

/// Two steps with one attempt each; the first has its own criterion, with this verdict.
fn two_step_task(verdict: VerdictStatus) -> Arc<FakeOrchestrator> {
    let fake = FakeOrchestrator::with_commands(&["make", "make test"]).with_attempt(
        0,
        1,
        successful_attempt(verdict),
    );
    let mut world = fake.lock_state();
    world.task.max_attempts = 1;
    world.task.step_criteria = vec![StepCriterion { step_index: 0, criterion: prose_criterion() }];
    drop(world);
    fake
}

#[tokio::test(start_paused = true)]
async fn a_step_starts_only_if_the_criteria_of_the_step_before_it_are_met() {
    for (verdict, judged, outcome) in [
        (VerdictStatus::Pass, vec![(0, vec![prose_criterion()]), (1, vec![])], Outcome::Completed),
        (VerdictStatus::Fail, vec![(0, vec![prose_criterion()])], Outcome::Failed),
    ] {
        let fake = two_step_task(verdict);

        drive_to_end(&fake).await;

        assert_eq!(fake.lock_state().judged, judged);
        assert_eq!(fake.job_attempts().len(), judged.len());
        assert_eq!(fake.finish().unwrap().outcome, outcome);
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_settles_an_unjudged_criterion_of_a_step_before_the_next_one_starts() {
    for (reply, jobs, outcome) in
        [(Reply::Yes {}, 2, Outcome::Completed), (Reply::No {}, 1, Outcome::Failed)]
    {
        let fake = two_step_task(VerdictStatus::Unclear);

        let ask = pending_question(&fake).await;
        assert_eq!(fake.job_attempts(), [(0, 1)]);
        record_answer(&fake, &ask, Some(reply));
        drive_to_end(&fake).await;

        let question: Question = serde_json::from_value(ask.question.clone()).unwrap();
        assert!(question.text.starts_with("Step 1 of 2: "), "{}", question.text);
        assert_eq!(fake.job_attempts().len(), jobs);
        assert_eq!(fake.finish().unwrap().outcome, outcome);
    }
}
