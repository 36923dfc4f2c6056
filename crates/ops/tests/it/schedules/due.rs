//! What is done when a schedule comes due.

use cynode_domain::schedule::ScheduleRunStatus as Status;
use cynode_ops::handoff::HandoffError;
use cynode_store::{Error, ScheduleRunStore};
use serde_json::{Value, json};

use super::world::Clockwork;

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

#[tokio::test]
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

#[tokio::test]
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

#[tokio::test]
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
}

#[tokio::test]
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

#[tokio::test]
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

#[tokio::test]
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

#[tokio::test]
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

#[tokio::test]
async fn what_the_project_manager_refuses_fails_at_once() {
    let clockwork = Clockwork::with(vec![away()], false).await;
    let schedule = clockwork.prose().await;
    clockwork.comes_due(schedule.id, 1).await;

    clockwork.activate().await;

    assert_eq!(clockwork.runs(schedule.id).await[0].status, Status::Failed);
}

#[tokio::test]
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

#[tokio::test]
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

#[tokio::test]
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
