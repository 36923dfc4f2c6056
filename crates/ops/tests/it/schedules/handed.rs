//! Due work handed to the project manager, and its outcome after failures.

use std::sync::Arc;

use cynode_domain::schedule::ScheduleRunStatus as Status;
use cynode_execution::handoff::HandoffError;
use cynode_runtime::shutdown::Shutdown;
use cynode_store::Error;
use cynode_wire::tasks::{CreateTask, TaskView};
use serde_json::json;

use super::world::{Clockwork, HangingScheduleManager, commands, scheduler};
use crate::engines::on_each_engine;

on_each_engine! {
    prose_is_handed_to_the_project_manager_whose_tasks_say_that_a_schedule_made_them,
    a_project_manager_that_dies_after_it_made_the_task_makes_no_second_one,
    the_tasks_of_a_due_time_are_made_all_or_none_and_once_whatever_is_asked_later,
    tries_while_nobody_is_there_do_not_use_up_those_for_failures,
    a_run_whose_orchestrator_died_is_taken_up_by_another_and_makes_one_task,
    a_run_that_ends_its_orchestrator_each_time_is_given_up_with_the_reason,
    a_run_in_hand_when_its_orchestrator_stops_does_not_count_as_tried,
    without_a_project_manager_prose_fails_and_says_what_to_do,
    what_the_project_manager_cannot_do_is_given_up_in_the_end,
    what_the_project_manager_refuses_fails_at_once,
}

fn away() -> HandoffError {
    HandoffError::Invalid("away".to_owned())
}

fn lost() -> HandoffError {
    HandoffError::ConnectionLost("killed".to_owned())
}

async fn prose_is_handed_to_the_project_manager_whose_tasks_say_that_a_schedule_made_them() {
    let clockwork = Clockwork::new().await;
    let schedule = clockwork.prose().await;
    clockwork.comes_due(schedule.id, 1).await;

    clockwork.activate().await;

    let handed = clockwork.manager.handed.lock().unwrap().clone();
    assert_eq!(handed.len(), 1);
    assert_eq!(handed[0]["body"]["schedule_id"], json!(schedule.id));
    assert_eq!(handed[0]["body"]["payload"], "tidy up");
    assert_eq!(handed[0]["context"]["project"]["id"], json!(schedule.project_id));
    let (runs, tasks) = (clockwork.runs(schedule.id).await, clockwork.tasks().await);
    assert_eq!((runs.len(), tasks.len()), (1, 1));
    assert_eq!((runs[0].status, runs[0].summary.as_str()), (Status::Done, "made it"));
    assert_eq!(runs[0].tasks[0].id, tasks[0]);
    assert_eq!(clockwork.trigger(tasks[0]).await, "schedule");
}

async fn a_project_manager_that_dies_after_it_made_the_task_makes_no_second_one() {
    let clockwork = Clockwork::with(vec![lost()], true).await;
    let schedule = clockwork.prose().await;
    clockwork.comes_due(schedule.id, 1).await;

    clockwork.activate().await;
    let waiting = clockwork.runs(schedule.id).await.remove(0);
    assert_eq!(waiting.status, Status::Claimed);
    clockwork.expire_backoffs(&waiting).await;
    clockwork.activate().await;

    let run = clockwork.runs(schedule.id).await.remove(0);
    assert_eq!((run.status, run.attempts), (Status::Done, 2));
    assert_eq!((clockwork.tasks().await.len(), run.tasks.len()), (1, 1));
    assert_eq!(run.summary, format!("made {}", run.tasks[0].name));
    assert_eq!(clockwork.manager.handed.lock().unwrap().len(), 1, "it is not asked twice");
}

async fn the_tasks_of_a_due_time_are_made_all_or_none_and_once_whatever_is_asked_later() {
    let clockwork = Clockwork::new().await;
    let schedule = clockwork.prose().await;
    let (bob, tasks) = (clockwork.fixture.bob(), &clockwork.fixture.tasks);
    let run = clockwork.schedules.fire(bob, &"nightly".into()).await.unwrap().id;
    let task = |command: &str| {
        let task = json!({ "input_mode": "commands", "commands": [command] });
        serde_json::from_value(task).unwrap()
    };
    let of = async |all| tasks.create_all_for_schedule(bob, run, all).await;
    let mut unfit: CreateTask = task("c");
    unfit.depends_on = vec!["nothing".to_owned()];

    of(vec![task("a"), unfit]).await.unwrap_err();
    assert!(clockwork.tasks().await.is_empty(), "half of it is nothing");
    let first = of(vec![task("a"), task("b")]).await.unwrap();
    let again = of(vec![task("c"), task("a"), task("d")]).await.unwrap();

    let ids = |made: &[TaskView]| made.iter().map(|task| task.id).collect::<Vec<_>>();
    assert_eq!((first.len(), ids(&first)), (2, ids(&again)));
    assert_eq!(clockwork.runs(schedule.id).await[0].tasks.len(), 2);
}

async fn tries_while_nobody_is_there_do_not_use_up_those_for_failures() {
    let failed = || HandoffError::Failed("no model".to_owned());
    let clockwork = Clockwork::with(vec![failed(), failed(), lost(), lost(), lost()], false).await;
    let schedule = clockwork.prose().await;
    clockwork.comes_due(schedule.id, 1).await;

    clockwork.activate().await;
    for _ in 0..5 {
        let run = clockwork.runs(schedule.id).await.remove(0);
        assert_eq!(run.status, Status::Claimed, "{run:?}");
        clockwork.expire_backoffs(&run).await;
        clockwork.activate().await;
    }

    let run = clockwork.runs(schedule.id).await.remove(0);
    assert_eq!((run.status, run.attempts), (Status::Done, 6));
}

async fn a_run_whose_orchestrator_died_is_taken_up_by_another_and_makes_one_task() {
    let clockwork = Clockwork::new().await;
    let schedule = clockwork.make(commands(&json!({}))).await;
    clockwork.schedules.fire(clockwork.fixture.bob(), &"build".into()).await.unwrap();
    let claimed: Result<Vec<_>, Error> = clockwork
        .fixture
        .world
        .store
        .write(|tx| Box::pin(async move { tx.schedule_run_claim(0, 10).await }))
        .await;
    assert_eq!(claimed.unwrap().len(), 1);

    clockwork.activate().await;

    let run = clockwork.runs(schedule.id).await.remove(0);
    assert_eq!((run.status, run.attempts, run.manual), (Status::Done, 2, true));
    assert_eq!(clockwork.tasks().await.len(), 1);
}

async fn a_run_that_ends_its_orchestrator_each_time_is_given_up_with_the_reason() {
    let clockwork = Clockwork::new().await;
    let schedule = clockwork.prose().await;
    clockwork.schedules.fire(clockwork.fixture.bob(), &"nightly".into()).await.unwrap();
    for _ in 0..4 {
        let store = &clockwork.fixture.world.store;
        let claimed: Result<Vec<_>, Error> =
            store.write(|tx| Box::pin(async move { tx.schedule_run_claim(0, 10).await })).await;
        assert_eq!(claimed.unwrap().len(), 1);
    }

    clockwork.activate().await;

    let run = clockwork.runs(schedule.id).await.remove(0);
    assert_eq!((run.status, run.attempts), (Status::Failed, 5));
    assert!(run.summary.contains("stopped during 4 attempts"), "{}", run.summary);
    assert!(clockwork.manager.handed.lock().unwrap().is_empty());
}

async fn a_run_in_hand_when_its_orchestrator_stops_does_not_count_as_tried() {
    let clockwork = Clockwork::new().await;
    let schedule = clockwork.prose().await;
    clockwork.schedules.fire(clockwork.fixture.bob(), &"nightly".into()).await.unwrap();
    // More often than the limits of failures, lost attempts and postponements.
    for _ in 0..21 {
        let (stuck, shutdown) = (Arc::new(HangingScheduleManager::default()), Shutdown::new());
        let scheduler = scheduler(&clockwork.fixture, clockwork.signals.clone(), stuck.clone());
        let stop = async {
            stuck.begun.notified().await;
            shutdown.trigger();
        };
        tokio::join!(scheduler.run(shutdown.clone()), stop);
    }

    clockwork.activate().await;

    let run = clockwork.runs(schedule.id).await.remove(0);
    // A scheduler that is slow to stop may take the run up again before it does.
    assert_eq!(run.status, Status::Done, "{}", run.summary);
    assert!(run.attempts >= 22, "{}", run.attempts);
    assert_eq!(clockwork.tasks().await.len(), 1);
}

async fn without_a_project_manager_prose_fails_and_says_what_to_do() {
    let clockwork = Clockwork::alone().await;
    let schedule = clockwork.prose().await;
    clockwork.comes_due(schedule.id, 1).await;

    clockwork.activate().await;

    let run = clockwork.runs(schedule.id).await.remove(0);
    assert_eq!(run.status, Status::Failed);
    assert!(run.summary.contains("schedule a task with commands"), "{}", run.summary);
    assert!(clockwork.tasks().await.is_empty());
}

async fn what_the_project_manager_cannot_do_is_given_up_in_the_end() {
    let fails = (0..20).map(|_| lost()).collect();
    let clockwork = Clockwork::with(fails, false).await;
    let schedule = clockwork.prose().await;
    clockwork.comes_due(schedule.id, 1).await;

    clockwork.activate().await;
    for _ in 0..19 {
        let run = clockwork.runs(schedule.id).await.remove(0);
        assert_eq!(run.status, Status::Claimed);
        clockwork.expire_backoffs(&run).await;
        clockwork.activate().await;
    }

    let run = clockwork.runs(schedule.id).await.remove(0);
    assert_eq!((run.status, run.attempts), (Status::Failed, 20));
    assert!(run.summary.starts_with("given up after 20 attempts: "), "{}", run.summary);
}

async fn what_the_project_manager_refuses_fails_at_once() {
    let clockwork = Clockwork::with(vec![away()], false).await;
    let schedule = clockwork.prose().await;
    clockwork.comes_due(schedule.id, 1).await;

    clockwork.activate().await;

    assert_eq!(clockwork.runs(schedule.id).await[0].status, Status::Failed);
}
