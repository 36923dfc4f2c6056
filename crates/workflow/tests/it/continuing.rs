//! Runs that stand still: who says how they go on, and how often.

use std::sync::Arc;

use cynode_domain::criteria::Criterion;
use cynode_domain::job::Ending;
use cynode_domain::plan::StepCriterion;
use cynode_domain::question::{Answer, Question, QuestionKind, Reply, ReplyForm};
use cynode_domain::status::JobStatus;
use cynode_domain::verdict::VerdictStatus;
use cynode_domain::verification::VerificationStatus;
use cynode_wire::continuing::ContinuationView;
use cynode_wire::handoff::ContinueWith;
use cynode_wire::workflow::{EffectView, Outcome};
use cynode_workflow::engine::{Ask, Stopped};
use serde_json::json;

use crate::fake::{Attempt, Fake, Moment, drive_once, drive_to_end};

fn settled(with: ContinueWith) -> ContinuationView {
    ContinuationView::Settled { with, reason: "so it was decided".to_owned() }
}

fn unstarted() -> Attempt {
    let ending = Ending::NotStarted { reason: "no memory".to_owned() };
    Attempt { status: JobStatus::Failed, ending, verdict: VerdictStatus::Fail }
}

/// One step with one attempt, which goes like this; what follows goes well.
fn standing(goes: Attempt, with: ContinueWith) -> Arc<Fake> {
    let fake = Fake::with_commands(&["make"]).attempt(0, 1, goes);
    let mut world = fake.world();
    world.task.max_attempts = 1;
    world.continuation = Some(settled(with));
    drop(world);
    fake
}

async fn asked(fake: &Arc<Fake>) -> Box<Ask> {
    match drive_once(fake).await {
        Some(Err(Stopped::Asks(ask))) => ask,
        other => panic!("nothing was asked: {other:?}"),
    }
}

fn answer(fake: &Fake, ask: &Ask, reply: Option<Reply>) {
    let answer = json!(Answer { reply, comment: None, by: Some("ada".to_owned()) });
    fake.world().effects.push(EffectView { key: ask.key.clone(), answer });
}

#[tokio::test(start_paused = true)]
async fn a_step_runs_again_if_that_was_decided() {
    let fake = standing(Attempt::interrupted(), ContinueWith::Retry);

    let state = drive_to_end(&fake).await;

    assert_eq!(fake.jobs(), [(0, 1), (0, 2)]);
    assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
    assert_eq!(fake.calls("continuation"), 1);
    assert_eq!(state.continuation.unwrap().number, 1);
    assert!(fake.path().contains(&"verify_step_result:retry_step".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_person_says_whether_a_step_runs_again() {
    for (reply, jobs, words) in [
        (Some(Reply::Yes {}), 2, "1 command exited with code 0 in 2 attempts"),
        (Some(Reply::No {}), 1, "It was not run again: ada said no."),
        (None, 1, "It was not run again: nobody answered in time."),
    ] {
        let fake = standing(Attempt::interrupted(), ContinueWith::AskPerson);

        let ask = asked(&fake).await;
        let again = asked(&fake).await;
        answer(&fake, &ask, reply);
        drive_to_end(&fake).await;

        let question: Question = serde_json::from_value(ask.question.clone()).unwrap();
        assert_eq!(
            (ask.node.as_str(), question.kind),
            ("verify_step_result", QuestionKind::Approval)
        );
        assert!(question.text.ends_with("so it was decided. Shall it run again?"));
        assert_eq!((question.about, question.accepts.len()), (vec!["1. make".to_owned()], 2));
        assert!(question.accepts.contains(&ReplyForm::No));
        assert_eq!((again, fake.calls("continuation")), (ask, 1));
        assert_eq!(fake.jobs().len(), jobs);
        let summary = fake.finish().unwrap().summary;
        assert!(summary.contains(words), "{summary}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_that_failed_by_itself_is_nobodys_to_decide() {
    let fake = standing(Attempt::bad(), ContinueWith::Retry);

    drive_to_end(&fake).await;

    assert_eq!((fake.calls("continuation"), fake.jobs().len()), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_step_with_attempts_left_is_nobodys_to_decide() {
    let fake = standing(unstarted(), ContinueWith::GiveUp);
    fake.world().task.max_attempts = 2;

    drive_to_end(&fake).await;

    assert_eq!((fake.calls("continuation"), fake.jobs().len()), (0, 2));
}

#[tokio::test(start_paused = true)]
async fn a_result_that_was_refused_is_not_taken_whoever_says_so() {
    for with in [ContinueWith::Continue, ContinueWith::GiveUp] {
        let fake = standing(unstarted(), with);

        drive_to_end(&fake).await;

        assert_eq!(fake.finish().unwrap().outcome, Outcome::Failed);
        assert_eq!(fake.jobs().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn who_decides_is_told_how_often_the_run_went_on() {
    let fake = standing(unstarted(), ContinueWith::Retry);
    fake.attempt(0, 2, unstarted()).attempt(0, 3, unstarted());

    drive_to_end(&fake).await;

    assert_eq!(fake.world().continued, [0, 1, 2]);
    assert_eq!(fake.jobs().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_decision_survives_a_crash_at_every_moment() {
    for moment in Moment::ALL {
        for nth in 1..12 {
            let fake = standing(Attempt::interrupted(), ContinueWith::Retry);
            fake.crash_at(moment, nth);
            if drive_once(&fake).await.is_none() {
                drive_to_end(&fake).await;
            }

            assert_eq!(fake.jobs(), [(0, 1), (0, 2)], "{moment:?} {nth}");
            assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
        }
    }
}

/// A step whose command ended well, and whose criteria were judged like this.
fn ended_well(verdict: VerdictStatus) -> Attempt {
    let ending = Ending::Exited { code: 0 };
    Attempt { status: JobStatus::Completed, ending, verdict }
}

#[tokio::test(start_paused = true)]
async fn a_person_is_asked_about_every_criterion_that_nobody_judged() {
    for (reply, outcome, words) in [
        (Some(Reply::Yes {}), Outcome::Completed, "2 acceptance criteria are met: 2 by a person"),
        (Some(Reply::No {}), Outcome::Failed, "it reads well (ada said no)"),
        (None, Outcome::Failed, "nobody answered in time"),
    ] {
        let fake = standing(ended_well(VerdictStatus::Unclear), ContinueWith::Retry);

        let ask = asked(&fake).await;
        let again = asked(&fake).await;
        answer(&fake, &ask, reply);
        drive_to_end(&fake).await;

        let question: Question = serde_json::from_value(ask.question.clone()).unwrap();
        assert_eq!(question.kind, QuestionKind::Approval);
        assert!(question.text.contains("2 acceptance criteria could not be judged"));
        let expected =
            ["1. make", "not judged: it reads well", "not judged: it is short (no model)"];
        assert_eq!(question.about, expected);
        assert_eq!(question.accepts, [ReplyForm::Yes, ReplyForm::No, ReplyForm::Retry]);
        assert_eq!((again, fake.calls("continuation")), (ask, 0));
        let finish = fake.finish().unwrap();
        assert_eq!((finish.outcome, fake.jobs().len()), (outcome, 1), "{}", finish.summary);
        assert!(finish.summary.contains(words), "{}", finish.summary);
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_is_judged_again_if_a_person_says_so_and_its_command_does_not_run_again() {
    let fake = standing(ended_well(VerdictStatus::Unclear), ContinueWith::GiveUp);

    let first = asked(&fake).await;
    answer(&fake, &first, Some(Reply::Retry {}));
    let second = asked(&fake).await;
    fake.attempt(0, 1, ended_well(VerdictStatus::Pass));
    answer(&fake, &second, Some(Reply::Retry {}));
    drive_to_end(&fake).await;

    assert_ne!(first.key, second.key);
    assert_eq!((fake.calls("verify"), fake.jobs().len()), (3, 1));
    assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_a_preference_accepts_unjudged_says_that_it_is_unverified() {
    let fake = standing(ended_well(VerdictStatus::Unverified), ContinueWith::Retry);

    drive_to_end(&fake).await;

    let finish = fake.finish().unwrap();
    assert_eq!(finish.outcome, Outcome::Completed);
    assert_eq!(finish.verification, Some(VerificationStatus::Unverified));
    assert!(finish.summary.starts_with("Unverified: "), "{}", finish.summary);
    assert!(finish.summary.contains("it is short (no model)"), "{}", finish.summary);
}

fn prose() -> Criterion {
    Criterion::Text { description: "it reads well".to_owned() }
}

/// Two steps with one attempt each; the first has a criterion of its own, which is judged like this.
fn first_of_two(verdict: VerdictStatus) -> Arc<Fake> {
    let fake = Fake::with_commands(&["make", "make test"]).attempt(0, 1, ended_well(verdict));
    let mut world = fake.world();
    world.task.max_attempts = 1;
    world.task.step_criteria = vec![StepCriterion { step_index: 0, criterion: prose() }];
    drop(world);
    fake
}

#[tokio::test(start_paused = true)]
async fn a_step_starts_only_if_the_criteria_of_the_step_before_it_are_met() {
    for (verdict, judged, outcome) in [
        (VerdictStatus::Pass, vec![(0, vec![prose()]), (1, vec![])], Outcome::Completed),
        (VerdictStatus::Fail, vec![(0, vec![prose()])], Outcome::Failed),
    ] {
        let fake = first_of_two(verdict);

        drive_to_end(&fake).await;

        assert_eq!(fake.world().judged, judged);
        assert_eq!(fake.jobs().len(), judged.len());
        assert_eq!(fake.finish().unwrap().outcome, outcome);
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_settles_an_unjudged_criterion_of_a_step_before_the_next_one_starts() {
    for (reply, jobs, outcome) in
        [(Reply::Yes {}, 2, Outcome::Completed), (Reply::No {}, 1, Outcome::Failed)]
    {
        let fake = first_of_two(VerdictStatus::Unclear);

        let ask = asked(&fake).await;
        assert_eq!(fake.jobs(), [(0, 1)]);
        answer(&fake, &ask, Some(reply));
        drive_to_end(&fake).await;

        let question: Question = serde_json::from_value(ask.question.clone()).unwrap();
        assert!(question.text.starts_with("Step 1 of 2: "), "{}", question.text);
        assert_eq!(fake.jobs().len(), jobs);
        assert_eq!(fake.finish().unwrap().outcome, outcome);
    }
}
