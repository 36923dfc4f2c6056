//! Tests of claims of runs.

use cynode_domain::status::TaskStatus;
use cynode_store::{GraphVersionRange, Run, RunClaim, Store};

use super::moves::claim;
use crate::world::World;

const MINUTE: u32 = 60_000;

fn claim_for_versions(oldest: u32, newest: u32) -> RunClaim {
    RunClaim { versions: GraphVersionRange { oldest, newest }, ..claim(8, MINUTE) }
}

pub(crate) async fn one_claim_takes_several_runs_oldest_first(store: Store) {
    let world = World::new(store).await;
    // No power of two: the limits of the statements that claim are.
    let mut runs = vec![];
    for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
        runs.push(world.run(name).await);
    }

    let (first, second) =
        (world.claim(claim(7, MINUTE)).await, world.claim(claim(7, MINUTE)).await);

    let ids = |granted: &[cynode_store::GrantedRun]| -> Vec<_> {
        granted.iter().map(|granted| granted.run.id).collect()
    };
    let expected: Vec<_> = runs.iter().map(|run| run.id).collect();
    assert_eq!(ids(&first), expected[..7]);
    assert_eq!(ids(&second), expected[7..]);
    assert!(first.iter().all(|granted| granted.lease.epoch == 1 && !granted.is_resumed()));
    for run in runs {
        assert_eq!(world.task_now(run.task).await.status, TaskStatus::Running);
    }
}

pub(crate) async fn a_run_taken_up_again_is_known_as_such(store: Store) {
    let world = World::new(store).await;
    world.run("a").await;
    let lease = world.claim(claim(1, MINUTE)).await[0].lease;
    write_tx!(world.store, tx => tx.lease_release(lease.task, lease.id, lease.epoch).await);

    let again = world.claim(claim(1, MINUTE)).await;

    assert!(again[0].is_resumed() && again[0].lease.epoch == 2);
}

pub(crate) async fn a_run_is_given_only_to_runners_that_know_its_graph(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    assert_eq!(read_tx!(world.store, tx => tx.run_version(run.id).await), None);
    let lease = world.claim(claim_for_versions(1, 2)).await[0].lease;
    assert_eq!(read_tx!(world.store, tx => tx.run_version(run.id).await), Some(2));
    write_tx!(world.store, tx => tx.lease_release(lease.task, lease.id, lease.epoch).await);

    assert!(world.claim(claim_for_versions(1, 1)).await.is_empty());
    assert!(world.claim(claim_for_versions(3, 4)).await.is_empty());
    assert_eq!(world.claim(claim_for_versions(2, 3)).await.len(), 1);
    assert_eq!(read_tx!(world.store, tx => tx.run_version(run.id).await), Some(2));
}

pub(crate) async fn a_run_that_needs_a_newer_graph_is_kept_from_older_runners(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let lease = world.claim(claim_for_versions(1, 2)).await[0].lease;
    for (raised, expected) in [(1, 2), (3, 3), (2, 3)] {
        write_tx!(world.store, tx => tx.run_require_version(run.id, raised).await);
        assert_eq!(read_tx!(world.store, tx => tx.run_version(run.id).await), Some(expected));
    }
    write_tx!(world.store, tx => tx.lease_release(lease.task, lease.id, lease.epoch).await);

    assert!(world.claim(claim_for_versions(1, 2)).await.is_empty());
    assert_eq!(world.claim(claim_for_versions(1, 3)).await.len(), 1);
}

pub(crate) async fn a_run_that_has_not_begun_may_need_a_newer_graph(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;

    write_tx!(world.store, tx => tx.run_require_version(run.id, 3).await);

    assert!(world.claim(claim_for_versions(1, 2)).await.is_empty());
    assert_eq!(world.claim(claim_for_versions(1, 4)).await.len(), 1);
    assert_eq!(read_tx!(world.store, tx => tx.run_version(run.id).await), Some(3));
}

async fn suspend_reason(world: &World, run: &Run) -> Option<String> {
    let task = run.task;
    let newest = read_tx!(world.store, tx => tx.newest_runs_of(&[task]).await);
    newest.into_iter().find(|found| found.id == run.id).unwrap().suspend_reason
}

pub(crate) async fn a_run_that_was_put_down_says_why_and_is_left_alone_for_a_while(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let lease = world.claim(claim(1, MINUTE)).await[0].lease;
    write_tx!(world.store, tx => {
        tx.run_suspend(run.id, "the checkpoint is newer", Some(7), MINUTE).await?;
        tx.lease_release(lease.task, lease.id, lease.epoch).await
    });

    let reason = suspend_reason(&world, &run).await;
    assert_eq!(reason.as_deref(), Some("the checkpoint is newer"));
    assert!(world.claim(claim_for_versions(1, 9)).await.is_empty());

    write_tx!(world.store, tx => tx.run_suspend(run.id, "again", None, 0).await);

    assert!(world.claim(claim_for_versions(1, 6)).await.is_empty());
    assert_eq!(world.claim(claim_for_versions(7, 7)).await.len(), 1);
    assert_eq!(suspend_reason(&world, &run).await, None);
}

pub(crate) async fn a_run_that_waits_is_left_alone_for_as_long_as_it_is_said_and_woken_at_once(
    store: Store,
) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let lease = world.claim(claim(1, MINUTE)).await[0].lease;
    write_tx!(world.store, tx => {
        tx.run_suspend(run.id, "it waits", None, 0).await?;
        tx.lease_release(lease.task, lease.id, lease.epoch).await
    });

    assert!(
        write_tx!(world.store, tx => tx.run_extend_suspension(run.id, "it waits", MINUTE).await)
    );
    assert!(world.claim(claim(1, MINUTE)).await.is_empty());
    write_tx!(world.store, tx => tx.run_end_suspension(run.id).await);

    assert_eq!(suspend_reason(&world, &run).await, None);
    assert_eq!(world.claim(claim(1, MINUTE)).await.len(), 1);
    write_tx!(world.store, tx => tx.run_extend_suspension(run.id, "another reason", MINUTE).await);
    assert_eq!(suspend_reason(&world, &run).await, None);
}

pub(crate) async fn a_run_made_with_open_dependencies_waits_until_it_is_let_go(store: Store) {
    let world = World::new(store).await;
    let (first, second) = (world.task("a").await, world.task("b").await);
    let task = world.task("c").await;
    for on in [first, second] {
        write_tx!(world.store, tx => tx.dependency_insert(task, on).await);
    }
    let run = world.run_of(task).await;
    write_tx!(world.store, tx => tx.task_set_status(first, TaskStatus::Completed, None).await);
    assert_eq!(write_tx!(world.store, tx => tx.runs_unblock(Some(first)).await), 0);

    write_tx!(world.store, tx => tx.task_set_status(second, TaskStatus::Completed, None).await);
    assert!(world.claim(claim(8, MINUTE)).await.is_empty());
    assert_eq!(write_tx!(world.store, tx => tx.runs_unblock(Some(second)).await), 1);

    let granted = world.claim(claim(8, MINUTE)).await;
    assert_eq!(granted.iter().map(|granted| granted.run.id).collect::<Vec<_>>(), [run.id]);
    assert_eq!(write_tx!(world.store, tx => tx.runs_unblock(None).await), 0);
}
