//! Laws of where jobs wait to be given a place.

use cynode_domain::ids::JobId;
use cynode_store::{JobStore, NewJob, PlacementStore, Store};

use crate::world::{World, eventually, new_job};

const MINUTE: u32 = 60_000;

impl World {
    async fn to_be_assigned(&self) -> Vec<JobId> {
        let jobs = change!(self.store, tx => tx.job_unassigned(100).await);
        jobs.into_iter().map(|job| job.asked.id).collect()
    }
}

pub(crate) async fn a_job_is_left_alone_while_somebody_is_asked_where_it_belongs(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let (asked, soon) = (world.job(&run, 0).await, world.job(&run, 1).await);
    change!(world.store, tx => {
        tx.job_await_placement(asked, MINUTE).await?;
        tx.job_await_placement(soon, 20).await
    });

    eventually(|| async { (world.to_be_assigned().await == [soon]).then_some(()) }).await;
    assert!(world.job_now(asked).await.place_until.is_some());

    change!(world.store, tx => tx.job_end_placement(asked).await);
    assert_eq!(world.to_be_assigned().await, [asked, soon]);
}

pub(crate) async fn a_job_that_was_given_a_node_waits_for_no_placement(store: Store) {
    let world = World::new(store).await;
    let (run, node) = (world.run("a").await, world.node("n").await);
    let job = world.job(&run, 0).await;
    change!(world.store, tx => {
        tx.job_await_placement(job, MINUTE).await?;
        tx.job_assign(job, node).await?;
        tx.job_await_placement(job, MINUTE).await
    });

    let job = world.job_now(job).await;
    assert_eq!((job.node, job.place_until), (Some(node), None));
}

pub(crate) async fn open_jobs_of_a_task_gather_where_one_of_them_is(store: Store) {
    let world = World::new(store).await;
    let (run, other) = (world.run("a").await, world.run("b").await);
    let (here, there) = (world.node("here").await, world.node("there").await);
    let placed = world.job(&run, 0).await;
    let (waiting, stranger) = (world.job(&run, 1).await, world.job(&other, 0).await);
    let asked = NewJob { pinned_node: Some(there), ..new_job(&run, 2, 1) };
    let pinned = asked.id;
    change!(world.store, tx => tx.job_insert(&asked).await.map(drop));
    assert_eq!(look!(world.store, tx => tx.task_node(run.task).await), None);
    assert_eq!(look!(world.store, tx => tx.task_awaited_node(other.task).await), None);

    change!(world.store, tx => {
        tx.task_lock_jobs(run.task).await?;
        tx.job_assign(placed, here).await?;
        tx.job_await_placement(waiting, MINUTE).await?;
        tx.task_gather(run.task, here).await
    });

    assert_eq!(look!(world.store, tx => tx.task_node(run.task).await), Some(here));
    let waiting = world.job_now(waiting).await;
    assert_eq!((waiting.asked.pinned_node, waiting.place_until), (Some(here), None));
    assert_eq!(world.job_now(placed).await.asked.pinned_node, None);
    assert_eq!(world.job_now(pinned).await.asked.pinned_node, Some(there));
    assert_eq!(world.job_now(stranger).await.asked.pinned_node, None);
    assert_eq!(look!(world.store, tx => tx.task_awaited_node(run.task).await), Some(here));
}
