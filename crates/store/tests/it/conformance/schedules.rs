//! Tests of schedules.

use chrono::{DateTime, TimeDelta, Timelike as _, Utc};
use cynode_domain::ids::{ProjectId, ScheduleId, ScheduleRunId, UserId};
use cynode_domain::schedule::{
    IfMissed, Overlap, SchedulePayload, ScheduleRule, ScheduleRunStatus, ScheduleTiming,
    ScheduleZone,
};
use cynode_domain::status::TaskStatus;
use cynode_store::{
    Error, NewScheduleRun, Schedule, ScheduleClaim, ScheduleRun, ScheduleWait, Store,
};
use futures_util::future::join_all;
use serde_json::json;

use crate::world::World;

pub(super) const LONG_MS: i64 = 60_000;

/// Times in the past, by any clock of the database.
fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::from_timestamp(1_700_000_000 + seconds, 123_456_000).unwrap()
}

pub(super) fn schedule(owner: UserId, project: ProjectId, name: &str) -> Schedule {
    Schedule {
        id: ScheduleId::generate(),
        owner,
        project,
        name: name.to_owned(),
        rule: ScheduleRule {
            timing: ScheduleTiming::cron("0 3 * * *").unwrap(),
            zone: "Europe/Berlin".parse().unwrap(),
            anchor: at(1),
        },
        payload: SchedulePayload::Task { request: json!({ "commands": ["true"] }) },
        is_enabled: true,
        if_missed: IfMissed::Skip,
        overlap: Overlap::Allow,
        next_due_at: Some(at(5)),
        created_at: at(1),
        updated_at: at(1),
    }
}

pub(super) async fn added(world: &World, name: &str) -> Schedule {
    let made = schedule(world.user, world.project, name);
    let row = made.clone();
    assert!(write_tx!(world.store, tx => tx.schedule_insert(&row).await));
    made
}

pub(super) fn new_run(of: &Schedule, second: i64) -> NewScheduleRun {
    NewScheduleRun {
        id: ScheduleRunId::generate(),
        schedule: of.id,
        due_at: Some(at(second)),
        is_manual: false,
        skip_reason: None,
    }
}

pub(super) async fn ran(world: &World, of: &Schedule, second: i64) -> ScheduleRunId {
    let run = new_run(of, second);
    let id = run.id;
    assert!(write_tx!(world.store, tx => tx.schedule_run_insert(&run).await));
    id
}

pub(super) async fn claimed(store: &Store) -> Vec<ScheduleRun> {
    write_tx!(store, tx => tx.schedule_run_claim(LONG_MS, 10).await)
}

pub(super) fn claim(run: &ScheduleRun) -> ScheduleClaim {
    ScheduleClaim { run: run.id, attempt: run.attempts }
}

/// Acts as a scheduler on due schedules: advances them and adds their runs, in one transaction.
async fn fire(store: &Store) -> usize {
    let fired: Result<usize, Error> = store
        .write(|tx| {
            Box::pin(async move {
                let mut fired = 0;
                for due in tx.schedule_list_due(10).await? {
                    let schedule = due.schedule?;
                    let due = schedule.next_due_at.unwrap();
                    assert!(tx.schedule_advance(schedule.id, due, None).await?);
                    let run = NewScheduleRun {
                        id: ScheduleRunId::generate(),
                        schedule: schedule.id,
                        due_at: Some(due),
                        is_manual: false,
                        skip_reason: None,
                    };
                    fired += usize::from(tx.schedule_run_insert(&run).await?);
                }
                Ok(fired)
            })
        })
        .await;
    fired.unwrap()
}

pub(crate) async fn a_schedule_reads_back_as_it_was_made_and_as_it_was_changed(store: Store) {
    let world = World::new(store).await;
    let made = added(&world, "nightly").await;
    let id = made.id;
    assert_eq!(read_tx!(world.store, tx => tx.schedule_get(id).await), Some(made.clone()));

    let changed = Schedule {
        name: "weekly".to_owned(),
        rule: ScheduleRule {
            timing: ScheduleTiming::every(60).unwrap(),
            zone: ScheduleZone::UTC,
            anchor: at(2),
        },
        payload: SchedulePayload::Prompt { text: "tidy up".to_owned() },
        is_enabled: false,
        if_missed: IfMissed::Once,
        overlap: Overlap::Skip,
        next_due_at: None,
        updated_at: at(3),
        ..made
    };
    let row = changed.clone();
    write_tx!(world.store, tx => tx.schedule_update(&row).await);

    assert_eq!(write_tx!(world.store, tx => tx.schedule_lock(id).await), Some(changed));
}

pub(crate) async fn a_schedules_name_is_taken_for_one_owner_and_project_only(store: Store) {
    let world = World::new(store).await;
    let first = added(&world, "nightly").await;
    let again = schedule(world.user, world.project, "nightly");
    let other = schedule(world.other_user("bob").await, world.project, "nightly");

    assert!(!write_tx!(world.store, tx => tx.schedule_insert(&again).await));
    assert!(write_tx!(world.store, tx => tx.schedule_insert(&other).await));
    let second = added(&world, "weekly").await;
    let renamed = Schedule { name: "nightly".to_owned(), ..second };
    let taken: Result<(), Error> =
        try_write_tx!(world.store, tx => tx.schedule_update(&renamed).await);

    assert!(taken.unwrap_err().is_duplicate());
    let owner = world.user;
    let named = read_tx!(world.store, tx => tx.schedule_list_by_name(owner, "nightly").await);
    assert_eq!(named, [first]);
}

pub(crate) async fn schedules_are_counted_and_paged_newest_first_for_one_owner_or_for_all(
    store: Store,
) {
    let world = World::new(store).await;
    let (first, second) = (added(&world, "a").await, added(&world, "b").await);
    let strange = schedule(world.other_user("bob").await, world.project, "c");
    let row = strange.clone();
    write_tx!(world.store, tx => tx.schedule_insert(&row).await);
    let (owner, project, before) = (world.user, world.project, second.id);

    let own =
        read_tx!(world.store, tx => tx.schedule_list(Some(owner), Some(project), None, 10).await);
    let older = read_tx!(world.store, tx => tx.schedule_list(None, None, Some(before), 10).await);
    let all = read_tx!(world.store, tx => tx.schedule_list(None, None, None, 1).await);

    assert_eq!(own, [second, first.clone()]);
    assert_eq!(older, [first]);
    assert_eq!(all, [strange]);
    assert_eq!(read_tx!(world.store, tx => tx.schedule_count(owner).await), 2);
}

pub(crate) async fn of_many_who_look_at_once_one_fires_a_due_time(store: Store) {
    let world = World::new(store).await;
    let due = added(&world, "nightly").await;
    let later = world.store.read(|tx| Box::pin(async move { tx.schedule_now().await })).await;
    let later = later.unwrap().with_nanosecond(0).unwrap() + TimeDelta::hours(1);
    let later =
        Schedule { next_due_at: Some(later), ..schedule(world.user, world.project, "later") };
    write_tx!(world.store, tx => tx.schedule_insert(&later).await);

    let fired: usize = join_all((0..8).map(|_| fire(&world.store))).await.into_iter().sum();
    let claims = join_all((0..8).map(|_| claimed(&world.store))).await;

    assert_eq!(fired, 1);
    let claims: Vec<_> = claims.into_iter().flatten().collect();
    assert_eq!(claims.len(), 1, "{claims:?}");
    assert_eq!((claims[0].schedule, claims[0].due_at, claims[0].attempts), (due.id, at(5), 1));
}

pub(crate) async fn a_schedule_is_busy_while_a_run_or_a_task_of_it_is_open(store: Store) {
    let world = World::new(store).await;
    let (made, task) = (added(&world, "nightly").await, world.task("a").await);
    let id = made.id;
    assert_eq!(read_tx!(world.store, tx => tx.schedule_count_open_runs(id).await), 0);
    let run = ran(&world, &made, 5).await;
    assert_eq!(read_tx!(world.store, tx => tx.schedule_count_open_runs(id).await), 1);
    for _ in 0..2 {
        write_tx!(world.store, tx => tx.scheduled_task_add(run, task).await);
    }
    let mine = claim(&claimed(&world.store).await.remove(0));
    write_tx!(world.store, tx => tx.schedule_run_end(mine, ScheduleRunStatus::Done, "").await);
    assert_eq!(read_tx!(world.store, tx => tx.schedule_count_open_runs(id).await), 1);

    write_tx!(world.store, tx => tx.task_set_status(task, TaskStatus::Canceled, None).await);

    assert_eq!(read_tx!(world.store, tx => tx.schedule_count_open_runs(id).await), 0);
    let tasks = read_tx!(world.store, tx => tx.scheduled_tasks_of(&[run]).await);
    let tasks: Vec<_> = tasks.into_iter().map(|of| (of.run, of.task, of.name, of.status)).collect();
    assert_eq!(tasks, [(run, task, "a".to_owned(), TaskStatus::Canceled)]);
}

pub(crate) async fn a_deleted_schedule_takes_its_runs_with_it_and_leaves_their_tasks(store: Store) {
    let world = World::new(store).await;
    let (made, task) = (added(&world, "nightly").await, world.task("a").await);
    let run = ran(&world, &made, 5).await;
    write_tx!(world.store, tx => tx.scheduled_task_add(run, task).await);
    let id = made.id;

    assert!(write_tx!(world.store, tx => tx.schedule_delete(id).await));

    assert!(!write_tx!(world.store, tx => tx.schedule_delete(id).await));
    assert_eq!(read_tx!(world.store, tx => tx.schedule_run_get(run).await), None);
    assert!(read_tx!(world.store, tx => tx.task_get(task).await).is_some());
    // A process that holds a claim on one of its runs can write nothing more.
    write_tx!(world.store, tx => tx.scheduled_task_add(run, task).await);
}

pub(crate) async fn how_long_there_is_to_wait_is_told_by_schedules_and_claims(store: Store) {
    let world = World::new(store).await;
    let now = Some(TimeDelta::zero());
    let ahead = async || read_tx!(world.store, tx => tx.schedule_next_wait().await);
    assert_eq!(ahead().await, ScheduleWait { due: None, run: None });
    let made = added(&world, "nightly").await;
    assert_eq!(ahead().await, ScheduleWait { due: now, run: None });
    fire(&world.store).await;
    assert_eq!(ahead().await, ScheduleWait { due: None, run: now });

    claimed(&world.store).await;

    let wait = ahead().await.run.unwrap();
    assert!(wait > TimeDelta::zero() && wait <= TimeDelta::milliseconds(LONG_MS), "{wait}");
    let paused = Schedule { is_enabled: false, next_due_at: None, ..made };
    write_tx!(world.store, tx => tx.schedule_update(&paused).await);
    assert_eq!(fire(&world.store).await, 0);
}

pub(crate) async fn a_schedule_that_cannot_be_read_keeps_no_other_from_coming_due(store: Store) {
    let world = World::new(store).await;
    let good = added(&world, "good").await;
    // Nested deeper than the parser accepts.
    let request = (0..300).fold(json!(0), |inner, _| json!([inner]));
    let payload = SchedulePayload::Task { request };
    let bad = Schedule { payload, ..schedule(world.user, world.project, "bad") };
    let (id, row) = (bad.id, bad.clone());
    write_tx!(world.store, tx => tx.schedule_insert(&row).await);

    let due = write_tx!(world.store, tx => tx.schedule_list_due(10).await);
    let read: Vec<_> = due.iter().map(|due| (due.id, due.schedule.is_ok())).collect();
    assert_eq!(read.len(), 2);
    assert!(read.contains(&(good.id, true)) && read.contains(&(bad.id, false)), "{read:?}");
    for limit in [1, 2] {
        let all = read_tx!(world.store, tx => tx.schedule_list(None, None, None, limit).await);
        assert_eq!(all.as_slice(), std::slice::from_ref(&good));
    }

    write_tx!(world.store, tx => tx.schedule_pause(id).await);

    let due = write_tx!(world.store, tx => tx.schedule_list_due(10).await);
    assert_eq!(due.iter().map(|due| due.id).collect::<Vec<_>>(), [good.id]);
}
