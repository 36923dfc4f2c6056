//! What is done when a schedule comes due.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::schedule::{Payload, ScheduleRunStatus as Status};
use cynode_ops::handoff::HandoffError;
use cynode_ops::schedules::ScheduleError;
use cynode_runtime::shutdown::Shutdown;
use cynode_store::{DueStore, Error, ScheduleRunStore, ScheduleStore};
use cynode_wire::tasks::{CreateTask, TaskView};
use serde_json::{Value, json};

use super::world::{Clockwork, Stuck, scheduler};
use crate::engines::on_each_engine;

on_each_engine! {
    prose_is_handed_to_the_project_manager_whose_tasks_say_that_a_schedule_made_them,
    a_scheduled_task_with_commands_is_made_as_it_stands_and_nobody_is_asked,
    a_project_manager_that_dies_after_it_made_the_task_makes_no_second_one,
    the_tasks_of_a_due_time_are_made_all_or_none_and_once_whatever_is_asked_later,
    tries_while_nobody_is_there_do_not_use_up_those_for_failures,
    a_time_that_comes_while_all_hands_are_busy_is_noted_when_it_comes,
    a_schedule_that_cannot_be_read_is_paused_and_stops_no_other,
    at_most_five_times_of_a_schedule_are_open_whoever_fires_it,
    a_run_whose_orchestrator_died_is_taken_up_by_another_and_makes_one_task,
    a_run_that_ends_its_orchestrator_each_time_is_given_up_with_the_reason,
    a_run_in_hand_when_its_orchestrator_stops_does_not_count_as_tried,
    two_schedulers_that_look_at_once_fire_a_time_once,
    without_a_project_manager_prose_fails_and_says_what_to_do,
    what_the_project_manager_cannot_do_is_given_up_in_the_end,
    what_the_project_manager_refuses_fails_at_once,
    while_a_task_of_an_earlier_time_is_open_the_next_is_skipped_unless_that_is_allowed,
    after_downtime_the_latest_missed_time_fires_once_or_not_at_all,
    a_single_time_fires_once_and_the_schedule_is_finished,
}

fn away() -> HandoffError {
    HandoffError::Invalid("away".to_owned())
}

fn lost() -> HandoffError {
    HandoffError::Lost("killed".to_owned())
}

fn commands(more: &Value) -> Value {
    let task = json!({ "input_mode": "commands", "commands": ["true"] });
    let mut request = json!({ "name": "build", "every_s": 3600, "task": task });
    for (key, value) in more.as_object().unwrap() {
        request[key] = value.clone();
    }
    request
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

async fn a_scheduled_task_with_commands_is_made_as_it_stands_and_nobody_is_asked() {
    let clockwork = Clockwork::new().await;
    let schedule = clockwork.make(commands(&json!({}))).await;
    clockwork.comes_due(schedule.id, 1).await;

    clockwork.activate().await;

    assert!(clockwork.manager.handed.lock().unwrap().is_empty());
    let runs = clockwork.runs(schedule.id).await;
    assert_eq!((runs[0].status, runs[0].summary.as_str()), (Status::Done, "made build"));
    assert_eq!(clockwork.trigger(clockwork.tasks().await[0]).await, "schedule");
    let next = clockwork.schedules.get(clockwork.its.bob(), "build").await.unwrap().next_due_at;
    assert!(next.unwrap() > runs[0].due_at);
}

async fn a_project_manager_that_dies_after_it_made_the_task_makes_no_second_one() {
    let clockwork = Clockwork::with(vec![lost()], true).await;
    let schedule = clockwork.prose().await;
    clockwork.comes_due(schedule.id, 1).await;

    clockwork.activate().await;
    let waiting = clockwork.runs(schedule.id).await.remove(0);
    assert_eq!(waiting.status, Status::Claimed);
    clockwork.patience_ends(&waiting).await;
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
    let (bob, tasks) = (clockwork.its.bob(), &clockwork.its.tasks);
    let run = clockwork.schedules.fire(bob, "nightly").await.unwrap().id;
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
        clockwork.patience_ends(&run).await;
        clockwork.activate().await;
    }

    let run = clockwork.runs(schedule.id).await.remove(0);
    assert_eq!((run.status, run.attempts), (Status::Done, 6));
}

async fn a_time_that_comes_while_all_hands_are_busy_is_noted_when_it_comes() {
    let clockwork = Clockwork::new().await;
    let bob = clockwork.its.bob();
    for name in ["a", "b"] {
        clockwork.make(json!({ "name": name, "every_s": 3600, "prompt": "tidy up" })).await;
        for _ in 0..4 {
            clockwork.schedules.fire(bob, name).await.unwrap();
        }
    }
    let due = clockwork.make(commands(&json!({}))).await.id;
    let scheduler =
        scheduler(&clockwork.its, clockwork.signals.clone(), Arc::new(Stuck::default()));
    let shutdown = Shutdown::new();
    let noted = async {
        loop {
            let runs = [clockwork.named("a").await, clockwork.named("b").await].concat();
            if runs.iter().filter(|run| run.status == Status::HandedOver).count() == 8 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        clockwork.comes_due(due, 1).await;
        clockwork.schedules.fire(bob, "a").await.unwrap();
        loop {
            let runs = clockwork.runs(due).await;
            if let Some(run) = runs.first() {
                return (run.status, runs.len());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };

    let noted = tokio::select! {
        () = scheduler.run(shutdown) => panic!("it ends with the process"),
        noted = tokio::time::timeout(Duration::from_secs(30), noted) => noted,
    };

    assert_eq!(noted.unwrap(), (Status::Claimed, 1), "it waits for its turn, and is not missed");
}

async fn a_schedule_that_cannot_be_read_is_paused_and_stops_no_other() {
    let clockwork = Clockwork::new().await;
    let (good, bad) = (clockwork.make(commands(&json!({}))).await, clockwork.prose().await);
    clockwork.schedules.fire(clockwork.its.bob(), "nightly").await.unwrap();
    for schedule in [bad.id, good.id] {
        clockwork.comes_due(schedule, 1).await;
    }
    let id = bad.id;
    let broken: Result<(), Error> = clockwork
        .its
        .world
        .store
        .write(move |tx| {
            Box::pin(async move {
                let mut schedule = tx.schedule_get(id).await?.unwrap();
                // Deeper than any reader follows.
                let request = (0..300).fold(json!(0), |inner, _| json!([inner]));
                schedule.payload = Payload::Task { request };
                tx.schedule_update(&schedule).await
            })
        })
        .await;
    broken.unwrap();

    clockwork.activate().await;
    clockwork.activate().await;

    assert_eq!(clockwork.runs(good.id).await[0].status, Status::Done);
    let store = &clockwork.its.world.store;
    let left: Result<_, Error> = store
        .read(move |tx| {
            Box::pin(async move {
                Ok((tx.schedule_wait().await?, tx.schedule_run_list(id, None, 10).await?))
            })
        })
        .await;
    let (ahead, runs) = left.unwrap();
    assert_eq!(ahead.run, None, "nothing is left open");
    assert!(ahead.due > Some(chrono::TimeDelta::zero()));
    assert_eq!((runs.len(), runs[0].status), (1, Status::Failed));
}

async fn at_most_five_times_of_a_schedule_are_open_whoever_fires_it() {
    let clockwork = Clockwork::new().await;
    let eager = clockwork.make(commands(&json!({ "overlap": "allow" }))).await;
    let bob = clockwork.its.bob();
    for _ in 0..5 {
        clockwork.schedules.fire(bob, "build").await.unwrap();
    }
    clockwork.activate().await;

    let refused = clockwork.schedules.fire(bob, "build").await;
    clockwork.comes_due(eager.id, 1).await;
    clockwork.activate().await;

    assert!(matches!(refused, Err(ScheduleError::TooManyOpen(_))));
    let newest = clockwork.runs(eager.id).await.remove(0);
    assert_eq!(newest.status, Status::Skipped);
    assert!(newest.summary.contains("5 earlier times"), "{}", newest.summary);
    let task = clockwork.tasks().await[0].to_string();
    clockwork.its.tasks.cancel(bob, &task).await.unwrap();
    clockwork.schedules.fire(bob, "build").await.unwrap();
}

async fn a_run_whose_orchestrator_died_is_taken_up_by_another_and_makes_one_task() {
    let clockwork = Clockwork::new().await;
    let schedule = clockwork.make(commands(&json!({}))).await;
    clockwork.schedules.fire(clockwork.its.bob(), "build").await.unwrap();
    let claimed: Result<Vec<_>, Error> = clockwork
        .its
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
    clockwork.schedules.fire(clockwork.its.bob(), "nightly").await.unwrap();
    for _ in 0..4 {
        let store = &clockwork.its.world.store;
        let claimed: Result<Vec<_>, Error> =
            store.write(|tx| Box::pin(async move { tx.schedule_run_claim(0, 10).await })).await;
        assert_eq!(claimed.unwrap().len(), 1);
    }

    clockwork.activate().await;

    let run = clockwork.runs(schedule.id).await.remove(0);
    assert_eq!((run.status, run.attempts), (Status::Failed, 5));
    assert!(run.summary.contains("4 times whoever dealt with it"), "{}", run.summary);
    assert!(clockwork.manager.handed.lock().unwrap().is_empty());
}

async fn a_run_in_hand_when_its_orchestrator_stops_does_not_count_as_tried() {
    let clockwork = Clockwork::new().await;
    let schedule = clockwork.prose().await;
    clockwork.schedules.fire(clockwork.its.bob(), "nightly").await.unwrap();
    // More often than it may fail, be left behind, or be put off because nobody is there.
    for _ in 0..21 {
        let (stuck, shutdown) = (Arc::new(Stuck::default()), Shutdown::new());
        let scheduler = scheduler(&clockwork.its, clockwork.signals.clone(), stuck.clone());
        let stop = async {
            stuck.begun.notified().await;
            shutdown.trigger();
        };
        tokio::join!(scheduler.run(shutdown.clone()), stop);
    }

    clockwork.activate().await;

    let run = clockwork.runs(schedule.id).await.remove(0);
    assert_eq!((run.status, run.attempts), (Status::Done, 22), "{}", run.summary);
    assert_eq!(clockwork.tasks().await.len(), 1);
}

async fn two_schedulers_that_look_at_once_fire_a_time_once() {
    let clockwork = Clockwork::new().await;
    let schedule = clockwork.prose().await;
    clockwork.comes_due(schedule.id, 1).await;

    let both = (clockwork.scheduler.activate(), clockwork.scheduler.activate());
    let (one, other) = tokio::join!(both.0, both.1);

    one.and(other).unwrap();
    assert_eq!(clockwork.manager.handed.lock().unwrap().len(), 1);
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
        clockwork.patience_ends(&run).await;
        clockwork.activate().await;
    }

    let run = clockwork.runs(schedule.id).await.remove(0);
    assert_eq!((run.status, run.attempts), (Status::Failed, 20));
    assert!(run.summary.starts_with("given up after 20 tries: "), "{}", run.summary);
}

async fn what_the_project_manager_refuses_fails_at_once() {
    let clockwork = Clockwork::with(vec![away()], false).await;
    let schedule = clockwork.prose().await;
    clockwork.comes_due(schedule.id, 1).await;

    clockwork.activate().await;

    assert_eq!(clockwork.runs(schedule.id).await[0].status, Status::Failed);
}

async fn while_a_task_of_an_earlier_time_is_open_the_next_is_skipped_unless_that_is_allowed() {
    let clockwork = Clockwork::new().await;
    let careful = clockwork.make(commands(&json!({}))).await;
    let eager = clockwork.make(commands(&json!({ "name": "eager", "overlap": "allow" }))).await;
    for seconds_ago in [30, 20] {
        for schedule in [careful.id, eager.id] {
            clockwork.comes_due(schedule, seconds_ago).await;
        }
        clockwork.activate().await;
    }

    let (skipped, fired) = (clockwork.runs(careful.id).await, clockwork.runs(eager.id).await);

    assert_eq!([skipped[0].status, skipped[1].status], [Status::Skipped, Status::Done]);
    assert_eq!(skipped[0].summary, "work of an earlier time was still open");
    assert_eq!([fired[0].status, fired[1].status], [Status::Done, Status::Done]);

    let task = skipped[1].tasks[0].id.to_string();
    clockwork.its.tasks.cancel(clockwork.its.bob(), &task).await.unwrap();
    clockwork.comes_due(careful.id, 10).await;
    clockwork.activate().await;
    assert_eq!(clockwork.runs(careful.id).await[0].status, Status::Done);
}

async fn after_downtime_the_latest_missed_time_fires_once_or_not_at_all() {
    let clockwork = Clockwork::new().await;
    let once = clockwork.make(commands(&json!({}))).await;
    let never = clockwork.make(commands(&json!({ "name": "never", "if_missed": "skip" }))).await;
    for schedule in [once.id, never.id] {
        clockwork.comes_due(schedule, 5 * 3600 + 600).await;
    }

    clockwork.activate().await;
    clockwork.activate().await;

    let (fired, skipped) = (clockwork.runs(once.id).await, clockwork.runs(never.id).await);
    assert_eq!(
        fired.iter().map(|run| run.status).collect::<Vec<_>>(),
        [Status::Done, Status::Skipped]
    );
    assert_eq!((fired[0].due_at - fired[1].due_at).num_seconds(), 5 * 3600);
    assert!(skipped.iter().all(|run| run.status == Status::Skipped), "{skipped:?}");
    assert_eq!(clockwork.tasks().await.len(), 1);
}

async fn a_single_time_fires_once_and_the_schedule_is_finished() {
    let clockwork = Clockwork::new().await;
    let task = json!({ "input_mode": "commands", "commands": ["true"] });
    let once = json!({ "name": "once", "at": "2999-01-01 03:00", "task": task });
    let schedule = clockwork.make(once).await;
    clockwork.comes_due(schedule.id, 1).await;

    clockwork.activate().await;
    clockwork.activate().await;

    let after = clockwork.schedules.get(clockwork.its.bob(), "once").await.unwrap();
    assert_eq!(clockwork.tasks().await.len(), 1);
    assert_eq!(
        (after.last_run.unwrap().status, clockwork.runs(schedule.id).await.len()),
        (Status::Done, 1)
    );
}
