//! Tests of due schedules.

use std::sync::Arc;
use std::time::Duration;

use cynode_domain::schedule::{SchedulePayload, ScheduleRunStatus as Status};
use cynode_ops::schedules::ScheduleError;
use cynode_runtime::shutdown::Shutdown;
use cynode_store::Error;
use serde_json::json;

use super::world::{Clockwork, HangingScheduleManager, commands, scheduler};
use crate::engines::on_each_engine;

on_each_engine! {
    a_scheduled_task_with_commands_is_made_as_it_stands_and_nobody_is_asked,
    a_time_that_comes_while_all_hands_are_busy_is_noted_when_it_comes,
    a_schedule_that_cannot_be_read_is_paused_and_stops_no_other,
    at_most_five_times_of_a_schedule_are_open_whoever_fires_it,
    two_schedulers_that_look_at_once_fire_a_time_once,
    while_a_task_of_an_earlier_time_is_open_the_next_is_skipped_unless_that_is_allowed,
    after_downtime_the_latest_missed_time_fires_once_or_not_at_all,
    a_single_time_fires_once_and_the_schedule_is_finished,
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
    let next = clockwork
        .schedules
        .get(clockwork.fixture.bob(), &"build".into())
        .await
        .unwrap()
        .next_due_at;
    assert!(next.unwrap() > runs[0].due_at);
}

async fn a_time_that_comes_while_all_hands_are_busy_is_noted_when_it_comes() {
    let clockwork = Clockwork::new().await;
    let bob = clockwork.fixture.bob();
    for name in ["a", "b"] {
        clockwork.make(json!({ "name": name, "every_s": 3600, "prompt": "tidy up" })).await;
        for _ in 0..4 {
            clockwork.schedules.fire(bob, &name.into()).await.unwrap();
        }
    }
    let due = clockwork.make(commands(&json!({}))).await.id;
    let scheduler = scheduler(
        &clockwork.fixture,
        clockwork.signals.clone(),
        Arc::new(HangingScheduleManager::default()),
    );
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
        clockwork.schedules.fire(bob, &"a".into()).await.unwrap();
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
        noted = tokio::time::timeout(Duration::from_mins(5), noted) => noted,
    };

    assert_eq!(noted.unwrap(), (Status::Claimed, 1), "it waits for its turn, and is not missed");
}

async fn a_schedule_that_cannot_be_read_is_paused_and_stops_no_other() {
    let clockwork = Clockwork::new().await;
    let (good, bad) = (clockwork.make(commands(&json!({}))).await, clockwork.prose().await);
    clockwork.schedules.fire(clockwork.fixture.bob(), &"nightly".into()).await.unwrap();
    for schedule in [bad.id, good.id] {
        clockwork.comes_due(schedule, 1).await;
    }
    let id = bad.id;
    let broken: Result<(), Error> = clockwork
        .fixture
        .world
        .store
        .write(move |tx| {
            Box::pin(async move {
                let mut schedule = tx.schedule_get(id).await?.unwrap();
                // Deeper than any parser follows.
                let request = (0..300).fold(json!(0), |inner, _| json!([inner]));
                schedule.payload = SchedulePayload::Task { request };
                tx.schedule_update(&schedule).await
            })
        })
        .await;
    broken.unwrap();

    clockwork.activate().await;
    clockwork.activate().await;

    assert_eq!(clockwork.runs(good.id).await[0].status, Status::Done);
    let store = &clockwork.fixture.world.store;
    let left: Result<_, Error> = store
        .read(move |tx| {
            Box::pin(async move {
                Ok((tx.schedule_next_wait().await?, tx.schedule_run_list(id, None, 10).await?))
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
    let bob = clockwork.fixture.bob();
    for _ in 0..5 {
        clockwork.schedules.fire(bob, &"build".into()).await.unwrap();
    }
    clockwork.activate().await;

    let refused = clockwork.schedules.fire(bob, &"build".into()).await;
    clockwork.comes_due(eager.id, 1).await;
    clockwork.activate().await;

    assert!(matches!(refused, Err(ScheduleError::TooManyOpen(_))));
    let newest = clockwork.runs(eager.id).await.remove(0);
    assert_eq!(newest.status, Status::Skipped);
    assert!(newest.summary.contains("5 earlier runs"), "{}", newest.summary);
    let task = clockwork.tasks().await[0].to_string();
    clockwork.fixture.tasks.cancel(bob, &task.as_str().into()).await.unwrap();
    clockwork.schedules.fire(bob, &"build".into()).await.unwrap();
}

async fn two_schedulers_that_look_at_once_fire_a_time_once() {
    let clockwork = Clockwork::new().await;
    let schedule = clockwork.prose().await;
    clockwork.comes_due(schedule.id, 1).await;

    let both = (clockwork.scheduler.process_due(), clockwork.scheduler.process_due());
    let (one, other) = tokio::join!(both.0, both.1);

    one.and(other).unwrap();
    assert_eq!(clockwork.manager.handed.lock().unwrap().len(), 1);
    assert_eq!(clockwork.tasks().await.len(), 1);
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
    assert_eq!(skipped[0].summary, "an earlier run was still open");
    assert_eq!([fired[0].status, fired[1].status], [Status::Done, Status::Done]);

    let task = skipped[1].tasks[0].id.to_string();
    clockwork.fixture.tasks.cancel(clockwork.fixture.bob(), &task.as_str().into()).await.unwrap();
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

    let after = clockwork.schedules.get(clockwork.fixture.bob(), &"once".into()).await.unwrap();
    assert_eq!(clockwork.tasks().await.len(), 1);
    assert_eq!(
        (after.last_run.unwrap().status, clockwork.runs(schedule.id).await.len()),
        (Status::Done, 1)
    );
}
