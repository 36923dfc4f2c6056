//! Replanning of rejected steps: when it is requested, and what is recorded.

use std::sync::Arc;

use cynode_domain::job::Action;
use cynode_domain::plan::{InputMode, Step, StepAuthor};
use cynode_domain::question::{Answer, Question, QuestionKind, Reply};
use cynode_domain::suspension::AUTHORED_BY_PERSON;
use cynode_wire::planning::PlanningView;
use cynode_wire::replanning::ReplanView;
use cynode_wire::workflow::{EffectView, Outcome};
use cynode_workflow::engine::{DriveError, DriveOutcome};
use serde_json::json;

use crate::fake::{CrashPoint, FakeAttempt, FakeOrchestrator, drive_once, drive_to_end};

fn command(line: &str) -> Action {
    Action::Command { line: line.to_owned() }
}

fn replan_view(line: &str, needs_approval: bool) -> ReplanView {
    let reason = "it deals with the finding".to_owned();
    ReplanView::Replanned { action: command(line), reason, needs_approval }
}

/// A prompt with one step planned by the project manager; its first attempt is rejected.
fn planned_task(max_attempts: u32, replans: &[ReplanView]) -> Arc<FakeOrchestrator> {
    let fake = FakeOrchestrator::with_commands(&[]).with_attempt(0, 1, FakeAttempt::bad());
    let mut world = fake.lock_state();
    world.task.input_mode = InputMode::Prompt;
    world.task.max_attempts = max_attempts;
    let step = Step { author: StepAuthor::Manager, ..Step::new(command("make")) };
    world.plan =
        Some(PlanningView::Planned { steps: vec![step], assumptions: vec![], made_by: None });
    world.replans = replans.to_vec().into();
    drop(world);
    fake
}

fn dispatched(fake: &FakeOrchestrator) -> Vec<Action> {
    fake.lock_state().dispatched.clone()
}

#[tokio::test(start_paused = true)]
async fn a_step_that_was_not_accepted_runs_the_command_that_was_planned_for_it() {
    for max_attempts in [1, 2] {
        let fake = planned_task(max_attempts, &[replan_view("make more", false)]);

        let state = drive_to_end(&fake).await;

        assert_eq!(dispatched(&fake), [command("make"), command("make more")]);
        assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
        assert_eq!(state.plan.steps[0].action, command("make more"));
        let revision = state.revision.unwrap();
        assert_eq!(revision.action, Some(command("make more")));
        assert_eq!(revision.reason, "it deals with the finding");
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_replays_a_new_plan_and_asks_for_it_once() {
    for moment in [CrashPoint::AfterRecord, CrashPoint::BeforeSave, CrashPoint::AfterSave] {
        for nth in 1.. {
            let fake = planned_task(1, &[replan_view("make more", false)]);
            fake.crash_at(moment, nth);
            match drive_once(&fake).await {
                None => drop(drive_to_end(&fake).await),
                Some(Ok(DriveOutcome::Finished(_))) => {
                    assert!(nth > 5, "it crashed too seldom at {moment:?}");
                    break;
                }
                other => panic!("neither crashed nor finished: {other:?}"),
            }

            assert_eq!(dispatched(&fake), [command("make"), command("make more")]);
            assert_eq!(fake.call_count("replan"), 1, "{moment:?} {nth}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_command_that_a_person_gave_is_not_planned_anew_and_that_is_recorded() {
    for (max_attempts, jobs) in [(1, 1), (2, 2)] {
        let fake =
            FakeOrchestrator::with_commands(&["make"]).with_attempt(0, 1, FakeAttempt::bad());
        fake.lock_state().task.max_attempts = max_attempts;
        fake.lock_state().replans.push_back(replan_view("rm -rf .", false));

        let state = drive_to_end(&fake).await;

        assert_eq!(dispatched(&fake), vec![command("make"); jobs]);
        assert_eq!(fake.call_count("replan"), 0);
        let revision = state.revision.unwrap();
        assert_eq!((revision.action, revision.reason.as_str()), (None, AUTHORED_BY_PERSON));
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_that_nobody_plans_anew_runs_again_only_if_attempts_are_left() {
    let kept = || ReplanView::Kept { reason: "no model is configured".to_owned() };
    let once = planned_task(1, &[kept()]);
    let twice = planned_task(2, &[kept()]);

    drive_to_end(&once).await;
    drive_to_end(&twice).await;

    assert_eq!(dispatched(&once), [command("make")]);
    let summary = once.finish().unwrap().summary;
    assert!(summary.ends_with("It was not replanned: no model is configured."), "{summary}");
    assert_eq!(dispatched(&twice), [command("make"), command("make")]);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_wants_its_plans_approved_asks_a_person_about_the_new_command() {
    for (reply, expected) in [(Reply::Yes {}, 2), (Reply::No {}, 1)] {
        let fake = planned_task(1, &[replan_view("make more", true)]);

        let Some(Err(DriveError::NeedsAnswer(ask))) = drive_once(&fake).await else {
            panic!("no question")
        };
        let answer =
            json!(Answer { reply: Some(reply), comment: None, by: Some("ada".to_owned()) });
        fake.lock_state().effects.push(EffectView { key: ask.key.clone(), answer });
        drive_to_end(&fake).await;

        let question: Question = serde_json::from_value(ask.question).unwrap();
        assert_eq!(question.kind, QuestionKind::Approval);
        assert_eq!(question.about, ["1. make", "make more"]);
        assert_eq!(dispatched(&fake).len(), expected);
    }
}
