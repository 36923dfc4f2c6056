//! Tests of the runs of schedules.

use cynode_domain::schedule::ScheduleRunStatus;
use cynode_domain::status::TaskStatus;
use cynode_store::{NewScheduleRun, ReleaseReason, ScheduleClaim, Store};
use futures_util::future::join_all;

use super::schedules::{LONG_MS, added, claim, claimed, new_run, ran, schedule};
use crate::world::World;

pub(crate) async fn a_due_time_has_one_run_and_a_skipped_one_is_over(store: Store) {
    let world = World::new(store).await;
    let made = added(&world, "nightly").await;
    let skipped = NewScheduleRun { skip_reason: Some("busy".to_owned()), ..new_run(&made, 5) };
    let (row, again) = (skipped.clone(), new_run(&made, 5));

    assert!(write_tx!(world.store, tx => tx.schedule_run_insert(&row).await));
    assert!(!write_tx!(world.store, tx => tx.schedule_run_insert(&again).await));

    assert_eq!(claimed(&world.store).await, []);
    let found = read_tx!(world.store, tx => tx.schedule_run_get(skipped.id).await).unwrap();
    assert_eq!((found.status, found.summary.as_str()), (ScheduleRunStatus::Skipped, "busy"));
    assert!(found.ended_at.is_some());
}

pub(crate) async fn who_lost_the_claim_of_a_schedules_run_changes_nothing_more(store: Store) {
    let world = World::new(store).await;
    let made = added(&world, "nightly").await;
    ran(&world, &made, 5).await;
    let first = write_tx!(world.store, tx => tx.schedule_run_claim(0, 1).await).remove(0);
    let second = claimed(&world.store).await.remove(0);
    assert_eq!((first.id, first.attempts, second.attempts), (second.id, 1, 2));
    assert_eq!(
        (first.lost_claims(), second.lost_claims()),
        (0, 1),
        "the first claim recorded no result"
    );
    let (old, new) = (claim(&first), claim(&second));
    let (over, handed) = (ScheduleRunStatus::Done, ScheduleRunStatus::HandedOver);

    assert!(!write_tx!(world.store, tx => tx.schedule_run_renew(old, handed, LONG_MS).await));
    assert!(
        !write_tx!(world.store, tx => tx.schedule_run_release(old, 0, "again", ReleaseReason::Failed).await)
    );
    assert!(!write_tx!(world.store, tx => tx.schedule_run_end(old, over, "mine").await));
    assert!(write_tx!(world.store, tx => tx.schedule_run_renew(new, handed, LONG_MS).await));
    assert!(write_tx!(world.store, tx => tx.schedule_run_end(new, over, "yours").await));
    assert!(!write_tx!(world.store, tx => tx.schedule_run_end(new, over, "twice").await));

    let found = read_tx!(world.store, tx => tx.schedule_run_get(new.run).await).unwrap();
    assert_eq!((found.status, found.summary.as_str()), (over, "yours"));
}

pub(crate) async fn a_schedules_run_that_is_put_off_is_claimed_again_when_its_time_has_come(
    store: Store,
) {
    let world = World::new(store).await;
    let made = added(&world, "nightly").await;
    ran(&world, &made, 5).await;
    let first = claimed(&world.store).await.remove(0);
    assert_eq!(claimed(&world.store).await, []);

    let mine = claim(&first);
    write_tx!(world.store, tx => tx.schedule_run_release(mine, LONG_MS, "nobody is there", ReleaseReason::ManagerUnavailable).await);
    assert_eq!(claimed(&world.store).await, []);
    write_tx!(world.store, tx => tx.schedule_run_release(mine, 0, "nobody is there", ReleaseReason::Failed).await);
    let second = claimed(&world.store).await.remove(0);

    assert_eq!((second.id, second.attempts), (first.id, 2));
    assert_eq!((second.summary.as_str(), second.failures), ("nobody is there", 1));
    assert_eq!(second.delays, 1, "what was put off has not failed");
    assert_eq!(second.lost_claims(), 0);
}

pub(crate) async fn a_schedules_run_that_is_given_back_counts_as_nothing(store: Store) {
    let world = World::new(store).await;
    let made = added(&world, "nightly").await;
    ran(&world, &made, 5).await;

    for _ in 0..30 {
        let mine = claim(&claimed(&world.store).await.remove(0));
        let shutdown = ReleaseReason::Shutdown;
        assert!(
            write_tx!(world.store, tx => tx.schedule_run_release(mine, 0, "stopped", shutdown).await)
        );
        assert!(!write_tx!(world.store, tx => tx.schedule_run_release(
            ScheduleClaim { attempt: mine.attempt + 1, ..mine }, 0, "stopped", shutdown).await));
    }

    let last = claimed(&world.store).await.remove(0);
    assert_eq!((last.attempts, last.failures, last.delays, last.lost_claims()), (31, 0, 0, 0));
}

pub(crate) async fn only_the_newest_runs_of_a_schedule_are_kept_and_open_ones_always(store: Store) {
    let world = World::new(store).await;
    let made = added(&world, "nightly").await;
    let id = made.id;
    let mut ids = vec![ran(&world, &made, 1).await];
    for second in 2..6 {
        let over = NewScheduleRun { skip_reason: Some(String::new()), ..new_run(&made, second) };
        ids.push(over.id);
        write_tx!(world.store, tx => tx.schedule_run_insert(&over).await);
    }

    assert_eq!(write_tx!(world.store, tx => tx.schedule_run_delete_old(id, 2).await), 2);

    let left = read_tx!(world.store, tx => tx.schedule_run_list(id, None, 10).await);
    let left: Vec<_> = left.iter().map(|run| run.id).collect();
    assert_eq!(left, [ids[4], ids[3], ids[0]]);
    let older = read_tx!(world.store, tx => tx.schedule_run_list(id, Some(left[0]), 1).await);
    assert_eq!(older[0].id, ids[3]);
}

pub(crate) async fn a_run_whose_task_is_open_is_never_forgotten(store: Store) {
    let world = World::new(store).await;
    let (made, task) = (added(&world, "nightly").await, world.task("a").await);
    let (id, run) = (made.id, ran(&world, &made, 1).await);
    write_tx!(world.store, tx => tx.scheduled_task_add(run, task).await);
    let mine = claim(&claimed(&world.store).await.remove(0));
    write_tx!(world.store, tx => tx.schedule_run_end(mine, ScheduleRunStatus::Done, "").await);
    let over = NewScheduleRun { skip_reason: Some(String::new()), ..new_run(&made, 2) };
    write_tx!(world.store, tx => tx.schedule_run_insert(&over).await);

    assert_eq!(write_tx!(world.store, tx => tx.schedule_run_delete_old(id, 1).await), 0);
    assert_eq!(read_tx!(world.store, tx => tx.schedule_count_open_runs(id).await), 1);

    write_tx!(world.store, tx => tx.task_set_status(task, TaskStatus::Canceled, None).await);
    assert_eq!(write_tx!(world.store, tx => tx.schedule_run_delete_old(id, 1).await), 1);
}

pub(crate) async fn owners_of_schedules_take_turns_however_many_runs_one_of_them_has(store: Store) {
    let world = World::new(store).await;
    let (mine, bob) = (added(&world, "mine").await, world.other_user("bob").await);
    let theirs = schedule(bob, world.project, "theirs");
    let row = theirs.clone();
    write_tx!(world.store, tx => tx.schedule_insert(&row).await);
    for second in 0..6 {
        ran(&world, &mine, second).await;
    }
    let take = async |limit| {
        let runs = write_tx!(world.store, tx => tx.schedule_run_claim(LONG_MS, limit).await);
        for run in &runs {
            let (claim, handed) = (claim(run), ScheduleRunStatus::HandedOver);
            write_tx!(world.store, tx => tx.schedule_run_renew(claim, handed, LONG_MS).await);
        }
        let of = |id| runs.iter().filter(|run| run.schedule == id).count();
        (of(mine.id), of(theirs.id))
    };

    assert_eq!(take(2).await, (2, 0), "no other owner waits");
    for second in 0..4 {
        ran(&world, &theirs, second).await;
    }

    assert_eq!(take(2).await, (0, 2), "who has two waits until the other has two");
    assert_eq!(take(2).await, (1, 1));
    assert_eq!(take(10).await, (3, 1), "the remaining runs are claimable by any process");
}

pub(crate) async fn the_tasks_of_a_schedules_run_are_made_by_one_of_many(store: Store) {
    let world = World::new(store).await;
    let of = added(&world, "nightly").await;
    let (run, other) = (ran(&world, &of, 1).await, ran(&world, &of, 2).await);
    let make =
        async |run| write_tx!(world.store, tx => tx.schedule_run_mark_tasks_created(run).await);

    let rights = join_all((0..6).map(|_| make(run))).await;

    assert_eq!(rights.into_iter().filter(|may| *may).count(), 1);
    let found = read_tx!(world.store, tx => tx.schedule_run_get(run).await).unwrap();
    assert!(found.made_at.is_some());
    let runs = claimed(&world.store).await;
    let ended = claim(runs.iter().find(|found| found.id == other).unwrap());
    write_tx!(world.store, tx => tx.schedule_run_end(ended, ScheduleRunStatus::Failed, "").await);
    assert!(!make(other).await, "what has ended makes nothing more");
}

pub(crate) async fn times_ahead_that_are_skipped_are_counted(store: Store) {
    let world = World::new(store).await;
    let made = added(&world, "nightly").await;
    let id = made.id;
    for second in [1, 3_000_000_000, 3_000_000_001] {
        ran(&world, &made, second).await;
    }

    assert_eq!(read_tx!(world.store, tx => tx.schedule_count_skipped_ahead(id).await), 2);
}
