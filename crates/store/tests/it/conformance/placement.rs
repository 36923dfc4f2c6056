//! Tests of job placement.

use std::collections::BTreeMap;

use cynode_domain::ids::{JobId, NodeId};
use cynode_domain::status::{JobStatus, NodeStatus};
use cynode_store::{NewJob, Run, Store};

use crate::world::{World, eventually, new_job, process_of};

const MINUTE: u32 = 60_000;

impl World {
    async fn to_be_assigned(&self) -> Vec<JobId> {
        let jobs = {
            let user = self.user;
            write_tx!(self.store, tx => tx.job_list_unassigned(user, None, 100).await)
        };
        jobs.into_iter().map(|job| job.spec.id).collect()
    }

    async fn pinned_job(&self, run: &Run, step_index: u32, node: NodeId) -> JobId {
        let job = NewJob { pinned_node: Some(node), ..new_job(run, step_index, 1) };
        write_tx!(self.store, tx => tx.job_insert(&job).await).0
    }

    async fn pin_of(&self, id: JobId) -> Option<NodeId> {
        self.job_now(id).await.spec.pinned_node
    }
}

pub(crate) async fn jobs_for_a_node_that_takes_none_are_in_nobodys_way(store: Store) {
    let world = World::new(store).await;
    let (away, drained, full) =
        (world.node("away").await, world.node("drained").await, world.node("full").await);
    let here = world.node("here").await;
    let (run, last) = (world.run("a").await, world.run("b").await);
    write_tx!(world.store, tx => {
        for node in [drained, full, here] {
            tx.node_set_process(node, process_of(node)).await?;
            tx.node_record_poll(node, process_of(node), None).await?;
        }
        tx.node_set_status(drained, NodeStatus::Drained).await
    });
    let room = read_tx!(world.store, tx => tx.node_get(full).await).unwrap().max_concurrency;
    for step in 0..room {
        world.running_job(&run, step, full, MINUTE).await;
    }
    for (step, node) in (100..).zip([away, drained, full]) {
        world.pinned_job(&run, step, node).await;
    }
    let (pinned, free) = (world.pinned_job(&run, 200, here).await, world.job(&last, 0).await);

    assert_eq!(world.to_be_assigned().await, [pinned, free]);
}

pub(crate) async fn of_jobs_of_a_task_that_are_pinned_nowhere_the_oldest_goes_first(store: Store) {
    let world = World::new(store).await;
    let (run, other) = (world.run("a").await, world.run("b").await);
    let (first, second) = (world.job(&run, 0).await, world.job(&run, 1).await);
    let stranger = world.job(&other, 0).await;
    assert_eq!(world.to_be_assigned().await, [first, stranger]);

    write_tx!(world.store, tx => tx.job_close(first, JobStatus::Canceled, None).await);

    assert_eq!(world.to_be_assigned().await, [second, stranger]);
}

pub(crate) async fn jobs_whose_node_is_not_there_are_found_after_a_while(store: Store) {
    let world = World::new(store).await;
    let (run, away) = (world.run("a").await, world.node("away").await);
    let (drained, here) = (world.node("drained").await, world.node("here").await);
    write_tx!(world.store, tx => {
        tx.node_set_process(drained, process_of(drained)).await?;
            tx.node_record_poll(drained, process_of(drained), None).await?;
        tx.node_set_status(drained, NodeStatus::Drained).await
    });
    let lost = world.pinned_job(&run, 0, away).await;
    let stopped = world.pinned_job(&run, 1, drained).await;
    world.pinned_job(&run, 2, here).await;
    world.job(&run, 3).await;
    let made = world.job_now(stopped).await.created_at;
    eventually(|| async {
        world.touch(here).await;
        let seen = read_tx!(world.store, tx => tx.node_get(here).await).unwrap().last_seen_at;
        (seen > Some(made)).then_some(())
    })
    .await;
    let seen = read_tx!(world.store, tx => tx.node_get(here).await).unwrap().last_seen_at.unwrap();

    let early = write_tx!(world.store, tx => tx.job_list_stranded(made, 10).await);
    let found = write_tx!(world.store, tx => tx.job_list_stranded(seen, 10).await);

    assert!(early.iter().all(|job| job.spec.id == lost), "{early:?}");
    let found: Vec<_> = found.into_iter().map(|job| job.spec.id).collect();
    assert_eq!(found, [lost, stopped]);
}

pub(crate) async fn a_task_of_which_nothing_has_begun_is_pinned_nowhere(store: Store) {
    let world = World::new(store).await;
    let (new, old) = (world.run("a").await, world.run("b").await);
    let node = world.node("n").await;
    let (waiting, given) =
        (world.pinned_job(&new, 0, node).await, world.pinned_job(&new, 1, node).await);
    world.running_job(&old, 0, node, MINUTE).await;
    let follows = world.pinned_job(&old, 1, node).await;

    write_tx!(world.store, tx => {
        tx.job_assign(given, node).await?;
        tx.task_unpin_jobs(new.task).await?;
        tx.task_unpin_jobs(old.task).await
    });

    assert_eq!(world.pin_of(waiting).await, None);
    assert_eq!(world.pin_of(given).await, Some(node));
    assert_eq!(world.pin_of(follows).await, Some(node));
}

pub(crate) async fn a_job_that_never_began_leaves_its_task_nowhere(store: Store) {
    let world = World::new(store).await;
    let (run, node) = (world.run("a").await, world.node("n").await);
    let job = world.job(&run, 0).await;
    assert!(read_tx!(world.store, tx => tx.task_has_open_job(run.task).await));
    write_tx!(world.store, tx => tx.job_assign(job, node).await);
    assert_eq!(read_tx!(world.store, tx => tx.task_node(run.task).await), Some(node));

    write_tx!(world.store, tx => tx.job_close(job, JobStatus::Canceled, None).await);

    assert_eq!(read_tx!(world.store, tx => tx.task_node(run.task).await), None);
    assert!(!read_tx!(world.store, tx => tx.task_has_open_job(run.task).await));
}

pub(crate) async fn a_job_is_left_alone_while_somebody_is_asked_where_it_belongs(store: Store) {
    let world = World::new(store).await;
    let (run, other) = (world.run("a").await, world.run("b").await);
    let (request, soon) = (world.job(&run, 0).await, world.job(&other, 0).await);
    write_tx!(world.store, tx => {
        tx.job_defer_assignment(request, MINUTE).await?;
        tx.job_defer_assignment(soon, 20).await
    });

    eventually(|| async { (world.to_be_assigned().await == [soon]).then_some(()) }).await;
    assert!(world.job_now(request).await.placement_deadline.is_some());

    write_tx!(world.store, tx => tx.job_allow_assignment(request).await);
    assert_eq!(world.to_be_assigned().await, [request, soon]);
}

pub(crate) async fn a_job_that_was_given_a_node_waits_for_no_placement(store: Store) {
    let world = World::new(store).await;
    let (run, node) = (world.run("a").await, world.node("n").await);
    let job = world.job(&run, 0).await;
    write_tx!(world.store, tx => {
        tx.job_defer_assignment(job, MINUTE).await?;
        tx.job_assign(job, node).await?;
        tx.job_defer_assignment(job, MINUTE).await
    });

    let job = world.job_now(job).await;
    assert_eq!((job.node, job.placement_deadline), (Some(node), None));
}

pub(crate) async fn open_jobs_of_a_task_gather_where_one_of_them_is(store: Store) {
    let world = World::new(store).await;
    let (run, other) = (world.run("a").await, world.run("b").await);
    let (here, there) = (world.node("here").await, world.node("there").await);
    let placed = world.job(&run, 0).await;
    let (waiting, stranger) = (world.job(&run, 1).await, world.job(&other, 0).await);
    let request = NewJob { pinned_node: Some(there), ..new_job(&run, 2, 1) };
    let pinned = request.id;
    write_tx!(world.store, tx => tx.job_insert(&request).await.map(drop));
    assert_eq!(read_tx!(world.store, tx => tx.task_node(run.task).await), Some(there));
    assert_eq!(read_tx!(world.store, tx => tx.task_node(other.task).await), None);
    let both = [run.task, other.task];
    let awaited = read_tx!(world.store, tx => tx.awaited_nodes_of(&both).await);
    assert_eq!(awaited, BTreeMap::from([(run.task, Some(there)), (other.task, None)]));

    write_tx!(world.store, tx => {
        tx.task_lock_jobs(run.task).await?;
        tx.job_assign(placed, here).await?;
        tx.job_defer_assignment(waiting, MINUTE).await?;
        tx.task_pin_jobs(run.task, here).await
    });

    assert_eq!(read_tx!(world.store, tx => tx.task_node(run.task).await), Some(here));
    let waiting = world.job_now(waiting).await;
    assert_eq!((waiting.spec.pinned_node, waiting.placement_deadline), (Some(here), None));
    assert_eq!(world.job_now(placed).await.spec.pinned_node, None);
    assert_eq!(world.job_now(pinned).await.spec.pinned_node, Some(there));
    assert_eq!(world.job_now(stranger).await.spec.pinned_node, None);
    // The oldest waiting job counts.
    let awaited = read_tx!(world.store, tx => tx.awaited_nodes_of(&both).await);
    assert_eq!(awaited, BTreeMap::from([(run.task, Some(here)), (other.task, None)]));
}
