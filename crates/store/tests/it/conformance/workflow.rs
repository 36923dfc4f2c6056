//! Tests of runs, checkpoints, history and effects.

use std::collections::BTreeSet;

use cynode_domain::ids::{HolderId, RunId};
use cynode_domain::status::{RunStatus, TaskStatus};
use cynode_store::{Effect, Error, Run, Store, Tx};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::world::{World, eventually, new_run};

impl World {
    async fn next(&self) -> Option<RunId> {
        let is_next = read_tx!(self.store, tx => tx.run_has_next().await);
        let next = write_tx!(self.store, tx => tx.run_next().await);
        assert_eq!(is_next, next.is_some());
        next.map(|run| run.id)
    }

    async fn effects(&self, run: RunId, after: i64) -> Vec<String> {
        let listed = read_tx!(self.store, tx => tx.effect_list(run, after).await);
        listed.into_iter().map(|effect| effect.key).collect()
    }
}

pub(crate) async fn the_newest_run_of_a_task_is_its_run(store: Store) {
    let world = World::new(store).await;
    let task = world.task("a").await;
    assert_eq!(read_tx!(world.store, tx => tx.run_of_task(task).await), None);

    world.run_of(task).await;
    let second = world.run_of(task).await;

    assert_eq!(read_tx!(world.store, tx => tx.run_of_task(task).await), Some(second));
}

pub(crate) async fn a_run_that_ended_is_never_moved_or_claimed_again(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    for status in [RunStatus::Running, RunStatus::Failed, RunStatus::Running] {
        write_tx!(world.store, tx => tx.run_set_status(run.id, status).await);
    }

    let found = read_tx!(world.store, tx => tx.run_of_task(run.task).await);
    assert_eq!(found.unwrap().status, RunStatus::Failed);
    assert_eq!(world.next().await, None);
}

pub(crate) async fn the_oldest_free_run_is_next(store: Store) {
    let world = World::new(store).await;
    assert_eq!(world.next().await, None);
    let (first, second) = (world.run("a").await, world.run("b").await);
    assert_eq!(world.next().await, Some(first.id));

    write_tx!(world.store, tx => tx.run_set_status(first.id, RunStatus::Completed).await);

    assert_eq!(world.next().await, Some(second.id));
}

pub(crate) async fn a_run_waits_until_every_dependency_is_completed(store: Store) {
    let world = World::new(store).await;
    let [a, b] = [world.task("a").await, world.task("b").await];
    let run = world.run("c").await;
    for on in [a, b] {
        write_tx!(world.store, tx => tx.dependency_insert(run.task, on).await);
    }
    assert_eq!(world.next().await, None);

    write_tx!(world.store, tx => tx.task_set_status(a, TaskStatus::Completed, None).await);
    assert_eq!(world.next().await, None);
    write_tx!(world.store, tx => tx.task_set_status(b, TaskStatus::Running, None).await);
    assert_eq!(world.next().await, None);

    write_tx!(world.store, tx => tx.task_set_status(b, TaskStatus::Completed, None).await);
    assert_eq!(world.next().await, Some(run.id));
}

pub(crate) async fn a_leased_run_is_skipped_until_its_lease_is_over(store: Store) {
    let world = World::new(store).await;
    let (first, second) = (world.run("a").await, world.run("b").await);
    let holder = HolderId::generate();
    let grant = |run: Run, lifetime_ms| {
        let store = world.store.clone();
        async move {
            write_tx!(store, tx => tx.lease_grant(run.task, run.id, holder, lifetime_ms).await)
        }
    };

    let lease = grant(first, 60_000).await.unwrap();
    assert_eq!(world.next().await, Some(second.id));

    write_tx!(world.store, tx => tx.lease_release(first.task, lease.id, lease.epoch).await);
    assert_eq!(world.next().await, Some(first.id));

    grant(first, 1).await.unwrap();
    eventually(|| async { world.next().await.filter(|next| *next == first.id) }).await;
}

/// The result of one attempt to claim a run.
enum ClaimAttempt {
    Granted(RunId),
    LostTheRace,
    NothingLeft,
}

async fn claim(tx: &mut Tx) -> Result<ClaimAttempt, Error> {
    let Some(run) = tx.run_next().await? else {
        return Ok(ClaimAttempt::NothingLeft);
    };
    let granted = tx.lease_grant(run.task, run.id, HolderId::generate(), 600_000).await?;
    Ok(granted.map_or(ClaimAttempt::LostTheRace, |lease| ClaimAttempt::Granted(lease.run)))
}

pub(crate) async fn concurrent_claimers_get_every_run_exactly_once(store: Store) {
    let world = World::new(store).await;
    let tasks: Vec<_> = (0..200).map(|number| world.new_task(&format!("t{number}"))).collect();
    let runs: Vec<_> = tasks.iter().map(|task| new_run(task.id)).collect();
    let expected: BTreeSet<_> = runs.iter().map(|run| run.id).collect();
    write_tx!(world.store, tx => {
        for (task, run) in tasks.iter().zip(&runs) {
            tx.task_insert(task).await?;
            tx.run_insert(run).await?;
        }
        Ok::<_, Error>(())
    });

    let mut claimers = JoinSet::new();
    for _ in 0..8 {
        let store = world.store.clone();
        claimers.spawn(async move {
            let mut mine = vec![];
            loop {
                match write_tx!(store, tx => claim(tx).await) {
                    ClaimAttempt::Granted(run) => mine.push(run),
                    ClaimAttempt::LostTheRace => {}
                    ClaimAttempt::NothingLeft => return mine,
                }
            }
        });
    }
    let claimed = claimers.join_all().await.concat();

    assert_eq!(claimed.len(), 200);
    assert_eq!(claimed.into_iter().collect::<BTreeSet<_>>(), expected);
}

pub(crate) async fn the_first_answer_of_an_effect_stays(store: Store) {
    let world = World::new(store).await;
    let (run, other) = (world.run("a").await.id, world.run("b").await.id);
    let effect = |answer: Value| Effect { key: "job/0/1".to_owned(), answer };
    let (first, second) = (effect(json!({"job": 1})), effect(json!({"job": 2})));
    let (mine, theirs) = (second.clone(), second.clone());

    let kept = write_tx!(world.store, tx => tx.effect_record(run, 1, &first).await);
    let again = write_tx!(world.store, tx => tx.effect_record(run, 3, &mine).await);
    let elsewhere = write_tx!(world.store, tx => tx.effect_record(other, 1, &theirs).await);

    assert_eq!((kept, again), (json!({"job": 1}), json!({"job": 1})));
    assert_eq!(elsewhere, second.answer);
}

pub(crate) async fn only_effects_after_the_checkpoint_are_listed(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await.id;
    for (sequence, key) in [(1, "old"), (2, "b"), (2, "B"), (3, "a")] {
        let effect = Effect { key: key.to_owned(), answer: Value::Null };
        write_tx!(world.store, tx => tx.effect_record(run, sequence, &effect).await);
    }

    assert_eq!(world.effects(run, 1).await, ["B", "a", "b"]);
    assert_eq!(world.effects(run, 2).await, ["a"]);
    assert!(world.effects(run, 3).await.is_empty());
}

pub(crate) async fn any_text_survives_in_json(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await.id;
    let answer = json!({"out": "nul \u{0}, \u{1f600}, \u{7f}, \"\\\n", "z": 1, "a": [null, 1.5]});
    let effect = Effect { key: "odd \u{1f600} key".to_owned(), answer };
    let given = effect.clone();

    let kept = write_tx!(world.store, tx => tx.effect_record(run, 1, &given).await);

    assert_eq!(kept, effect.answer);
    assert_eq!(read_tx!(world.store, tx => tx.effect_list(run, 0).await), [effect]);
}
