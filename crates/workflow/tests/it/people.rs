//! Questions to people and pauses, from the runner's side.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::plan::InputMode;
use cynode_domain::question::{Answer, Question, QuestionKind, Reply, ReplyForm};
use cynode_domain::run::{EDGES, FAILED_EDGE};
use cynode_runtime::health::Readiness;
use cynode_runtime::shutdown::Shutdown;
use cynode_wire::workflow::{EffectView, Outcome};
use cynode_workflow::engine::{DriveError, NodeQuestion};
use cynode_workflow::graph::build_task_graph;
use cynode_workflow::run_handle::RunHandle;
use cynode_workflow::runner::{WorkflowRunner, WorkflowRunnerOptions};
use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::fake::{FakeOrchestrator, drive_once, drive_to_end};

/// The question that a run stops with.
async fn pending_question(fake: &Arc<FakeOrchestrator>) -> (NodeQuestion, Question) {
    match drive_once(fake).await {
        Some(Err(DriveError::NeedsAnswer(ask))) => {
            let question = serde_json::from_value(ask.question.clone()).unwrap();
            (*ask, question)
        }
        other => panic!("nothing was asked: {other:?}"),
    }
}

fn record_answer(fake: &FakeOrchestrator, ask: &NodeQuestion, reply: Option<Reply>) {
    let (comment, by) = (Some("as agreed".to_owned()), Some("ada".to_owned()));
    let answer = json!(Answer { reply, comment, by });
    fake.lock_state().effects.push(EffectView { key: ask.key.clone(), answer });
}

fn prompt_task() -> Arc<FakeOrchestrator> {
    let fake = FakeOrchestrator::with_commands(&[]);
    fake.lock_state().task.input_mode = InputMode::Prompt;
    "build it\nand test it".clone_into(&mut fake.lock_state().task.prompt);
    fake
}

#[tokio::test(start_paused = true)]
async fn a_prompt_that_no_rule_can_plan_is_planned_as_a_person_answers() {
    let fake = prompt_task();

    let (ask, question) = pending_question(&fake).await;
    let (again, _) = pending_question(&fake).await;
    let lines = vec!["make".to_owned(), "make test".to_owned()];
    record_answer(&fake, &ask, Some(Reply::Commands { lines }));
    let state = drive_to_end(&fake).await;

    assert_eq!((ask.node.as_str(), question.kind), ("plan_steps", QuestionKind::Clarification));
    assert_eq!((question.about.len(), question.about[1].as_str()), (2, "and test it"));
    assert!(question.accepts.contains(&ReplyForm::Script));
    assert_eq!(again, ask);
    assert_eq!(fake.job_attempts(), [(0, 1), (1, 1)]);
    assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
    assert_eq!(state.plan.assumptions[1], "ada provided the commands for the prompt");
    let planned =
        fake.transition_path().into_iter().filter(|row| row.starts_with("plan_steps")).count();
    assert_eq!(planned, 1);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_may_be_answered_with_a_script() {
    let fake = prompt_task();
    let (ask, _) = pending_question(&fake).await;
    record_answer(&fake, &ask, Some(Reply::Script { text: "#!/bin/sh\nmake".to_owned() }));

    drive_to_end(&fake).await;

    assert_eq!(fake.job_attempts(), [(0, 1)]);
}

#[tokio::test(start_paused = true)]
async fn nothing_runs_before_the_plan_is_approved() {
    let fake = FakeOrchestrator::with_commands(&["make", "make test"]);
    fake.lock_state().task.approve_plan = true;

    let (ask, question) = pending_question(&fake).await;
    assert_eq!(fake.job_attempts(), []);
    assert_eq!(question.about, ["1. make", "2. make test"]);
    assert_eq!(question.accepts, [ReplyForm::Yes, ReplyForm::No]);
    record_answer(&fake, &ask, Some(Reply::Yes {}));
    drive_to_end(&fake).await;

    assert_eq!(fake.job_attempts(), [(0, 1), (1, 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_is_declined_or_left_unanswered_fails_the_task_with_the_reason() {
    for (reply, reason) in
        [(Some(Reply::No {}), "declined by ada: as agreed"), (None, "no answer in time")]
    {
        let fake = FakeOrchestrator::with_commands(&["make"]);
        fake.lock_state().task.approve_plan = true;
        let (ask, _) = pending_question(&fake).await;
        record_answer(&fake, &ask, reply);

        drive_to_end(&fake).await;

        assert_eq!(fake.job_attempts(), []);
        let finish = fake.finish().unwrap();
        assert_eq!(finish.outcome, Outcome::Failed);
        assert!(finish.summary.contains(reason), "{}", finish.summary);
    }
}

/// Runs a runner for `seconds`, then stops it.
async fn run_for(fake: &Arc<FakeOrchestrator>, seconds: u64) {
    let shutdown = Shutdown::new();
    let runner = WorkflowRunner::new(
        Arc::clone(fake) as _,
        WorkflowRunnerOptions::default(),
        Readiness::new(),
    );
    let running = timeout(Duration::from_hours(1), runner.run(shutdown.clone()));
    let story = async {
        sleep(Duration::from_secs(seconds)).await;
        shutdown.trigger();
    };
    tokio::join!(running, story).0.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_runner_that_hears_of_a_pause_puts_the_run_down_between_two_nodes() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    fake.lock_state().is_paused = true;

    run_for(&fake, 60).await;

    assert_eq!(fake.transition_path(), ["load_task_context:loaded"]);
    assert_eq!((fake.call_count("release"), fake.job_attempts()), (1, vec![]));
    fake.lock_state().is_paused = false;
    run_for(&fake, 60).await;
    assert_eq!(fake.finish().unwrap().outcome, Outcome::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_runner_hands_the_question_over_and_is_free_for_other_runs() {
    let fake = prompt_task();

    run_for(&fake, 60).await;

    assert_eq!(fake.call_count("ask"), 1);
    assert_eq!((fake.call_count("release"), fake.call_count("renew")), (0, 0));
    let question = fake.lock_state().question.clone().unwrap();
    assert_eq!(
        (question.key.as_str(), question.node.as_str()),
        ("2/plan_steps/ask/clarify", "plan_steps")
    );
}

#[tokio::test(start_paused = true)]
async fn the_ways_that_people_are_shown_are_those_of_the_graph() {
    let fake = FakeOrchestrator::with_commands(&["make"]);
    let held = Arc::new(RunHandle::new(Arc::clone(&fake) as _, fake.grant().lease));
    let graph = build_task_graph(held as _).unwrap();

    for (node, edge, next) in EDGES {
        assert_eq!(graph.successor(node, edge), Ok(Some(*next)), "{node} by {edge}");
    }
    drive_to_end(&fake).await;
    for row in fake.transition_path() {
        let (node, edge) = row.split_once(':').unwrap();
        let known = EDGES.iter().any(|(from, by, _)| (*from, *by) == (node, edge));
        assert!(known || graph.successor(node, edge) == Ok(None), "{row} is not known");
        assert!(graph.successor(node, FAILED_EDGE).is_ok() || node == "mark_failed");
    }
}
