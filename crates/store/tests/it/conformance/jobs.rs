//! Tests of jobs and their leases.

use cynode_domain::ids::{IncarnationId, JobId, NodeId};
use cynode_domain::status::{JobStatus, NodeStatus};
use cynode_store::{Job, NewJob, Store};
use serde_json::json;

use crate::world::{World, eventually, new_job, process_of};

const MINUTE: u32 = 60_000;

impl World {
    pub(crate) async fn job_now(&self, id: JobId) -> Job {
        read_tx!(self.store, tx => tx.job_get(id).await).unwrap()
    }

    async fn expired_jobs(&self) -> Vec<JobId> {
        let expired = write_tx!(self.store, tx => tx.job_list_expired().await);
        expired.into_iter().map(|job| job.spec.id).collect()
    }

    async fn unassigned(&self, limit: u32) -> Vec<JobId> {
        let jobs = {
            let user = self.user;
            write_tx!(self.store, tx => tx.job_list_unassigned(user, None, limit).await)
        };
        jobs.into_iter().map(|job| job.spec.id).collect()
    }
}

pub(crate) async fn a_job_reads_back_as_it_was_asked(store: Store) {
    let world = World::new(store).await;
    let (run, node) = (world.run("a").await, world.node("n").await);
    let request = NewJob { pinned_node: Some(node), ..new_job(&run, 3, 2) };
    let (id, given) = (request.id, request.clone());

    assert_eq!(write_tx!(world.store, tx => tx.job_insert(&given).await), (id, true));

    let job = world.job_now(id).await;
    assert_eq!(job.spec, request);
    assert_eq!((job.status, job.node, &job.result), (JobStatus::Queued, None, &None));
    assert!(!job.cancel_requested && !job.acknowledged);
    assert_eq!(write_tx!(world.store, tx => tx.job_lock(id).await), Some(job.clone()));
    assert_eq!(read_tx!(world.store, tx => tx.job_list(run.task).await), [job]);
    assert_eq!(read_tx!(world.store, tx => tx.job_get(JobId::generate()).await), None);
}

pub(crate) async fn a_step_attempt_has_one_job(store: Store) {
    let world = World::new(store).await;
    let (run, other) = (world.run("a").await, world.run("b").await);
    let first = world.job(&run, 0).await;

    let again = new_job(&run, 0, 1);
    assert_eq!(write_tx!(world.store, tx => tx.job_insert(&again).await), (first, false));

    for new in [new_job(&run, 0, 2), new_job(&run, 1, 1), new_job(&other, 0, 1)] {
        let id = new.id;
        assert_eq!(write_tx!(world.store, tx => tx.job_insert(&new).await), (id, true));
    }
    assert_eq!(read_tx!(world.store, tx => tx.job_list(run.task).await).len(), 3);
}

pub(crate) async fn jobs_are_listed_by_step_and_by_whether_they_are_open(store: Store) {
    let world = World::new(store).await;
    let (run, other) = (world.run("a").await, world.run("b").await);
    let (first, second) = (world.job(&run, 0).await, world.job(&run, 1).await);
    world.job(&other, 0).await;
    let again = new_job(&run, 0, 2);
    let attempt = again.id;
    write_tx!(world.store, tx => tx.job_insert(&again).await);
    write_tx!(world.store, tx => tx.job_close(first, JobStatus::Failed, None).await);
    let ids = |jobs: Vec<Job>| jobs.into_iter().map(|job| job.spec.id).collect::<Vec<_>>();

    let of_step = read_tx!(world.store, tx => tx.job_list_step(run.id, 0).await);
    assert_eq!(ids(of_step), [first, attempt]);
    let before = read_tx!(world.store, tx => tx.job_list_before(run.task, 1).await);
    assert_eq!(ids(before), [first, attempt]);
    let open = read_tx!(world.store, tx => tx.job_list_open(run.task).await);
    assert_eq!(ids(open), [second, attempt]);
}

pub(crate) async fn unassigned_jobs_are_listed_oldest_first_up_to_the_limit(store: Store) {
    let world = World::new(store).await;
    let node = world.node("n").await;
    let mut jobs = vec![];
    for name in ["a", "b", "c", "d"] {
        jobs.push(world.job(&world.run(name).await, 0).await);
    }
    let (given, closed) = (jobs[0], jobs[2]);
    write_tx!(world.store, tx => tx.job_assign(given, node).await);
    write_tx!(world.store, tx => tx.job_close(closed, JobStatus::Canceled, None).await);

    assert_eq!(world.unassigned(10).await, [jobs[1], jobs[3]]);
    assert_eq!(world.unassigned(1).await, [jobs[1]]);
    let of_node = read_tx!(world.store, tx => tx.job_list_of_node(node).await);
    assert_eq!(of_node.iter().map(|job| job.spec.id).collect::<Vec<_>>(), [given]);
}

pub(crate) async fn only_a_queued_job_is_assigned_or_started(store: Store) {
    let world = World::new(store).await;
    let (run, node, thief) =
        (world.run("a").await, world.node("n").await, world.node("thief").await);
    let job = world.running_job(&run, 0, node, MINUTE).await;
    let started = world.job_now(job).await;
    assert_eq!((started.status, started.node), (JobStatus::Running, Some(node)));
    assert!(started.started_at.is_some());

    write_tx!(world.store, tx => tx.job_assign(job, thief).await);
    let process = process_of(thief);
    assert!(!write_tx!(world.store, tx => tx.job_start(job, thief, process, MINUTE).await));
    assert_eq!(world.job_now(job).await, started);
    let queued = world.job(&run, 1).await;
    write_tx!(world.store, tx => tx.job_assign(queued, node).await);
    assert!(!write_tx!(world.store, tx => tx.job_start(queued, thief, process, MINUTE).await));
    assert_eq!(world.job_now(queued).await.status, JobStatus::Queued);
}

pub(crate) async fn jobs_of_a_silent_node_are_taken_back_unless_they_run(store: Store) {
    let world = World::new(store).await;
    let (run, silent, loud) =
        (world.run("a").await, world.node("silent").await, world.node("loud").await);
    world.touch(loud).await;
    let running = world.running_job(&run, 0, silent, MINUTE).await;
    let (lost, kept) = (world.job(&run, 1).await, world.job(&run, 2).await);
    write_tx!(world.store, tx => {
        tx.job_assign(lost, silent).await?;
        tx.job_assign(kept, loud).await
    });

    let taken = write_tx!(world.store, tx => tx.job_unassign_silent(i64::from(MINUTE)).await);

    assert_eq!(taken, [run.task]);
    assert_eq!(world.unassigned(10).await, [lost]);
    assert_eq!(world.job_now(running).await.node, Some(silent));
    assert_eq!(world.job_now(kept).await.node, Some(loud));
}

pub(crate) async fn queued_jobs_of_a_drained_node_are_taken_back(store: Store) {
    let world = World::new(store).await;
    let (run, node) = (world.run("a").await, world.node("n").await);
    let running = world.running_job(&run, 0, node, MINUTE).await;
    let queued = world.job(&run, 1).await;
    write_tx!(world.store, tx => {
        tx.job_assign(queued, node).await?;
        tx.node_set_process(node, process_of(node)).await?;
        tx.node_record_poll(node, process_of(node), None).await?;
        tx.node_set_status(node, NodeStatus::Drained).await
    });

    write_tx!(world.store, tx => tx.job_unassign_silent(i64::from(MINUTE)).await);

    assert_eq!(world.unassigned(10).await, [queued]);
    assert_eq!(world.job_now(running).await.node, Some(node));
}

pub(crate) async fn a_job_is_renewed_by_the_process_that_holds_it_only(store: Store) {
    let world = World::new(store).await;
    let (run, node, stranger) =
        (world.run("a").await, world.node("n").await, world.node("stranger").await);
    let job = world.running_job(&run, 0, node, MINUTE).await;
    let renew = |id: JobId, node: NodeId| {
        let store = world.store.clone();
        let process = process_of(node);
        async move { write_tx!(store, tx => tx.job_renew(id, node, process, MINUTE).await) }
    };

    assert!(!renew(job, stranger).await);
    // Naming the process of another node does not make a node that process.
    let process = process_of(node);
    assert!(!write_tx!(world.store, tx => tx.job_renew(job, stranger, process, MINUTE).await));
    assert!(!world.job_now(job).await.acknowledged);
    assert!(renew(job, node).await);
    assert!(world.job_now(job).await.acknowledged);
    assert!(!renew(JobId::generate(), node).await);

    write_tx!(world.store, tx => tx.job_close(job, JobStatus::Completed, None).await);
    assert!(!renew(job, node).await);
}

pub(crate) async fn a_successor_takes_over_the_jobs_of_its_predecessor_only(store: Store) {
    let world = World::new(store).await;
    let (run, node, other) =
        (world.run("a").await, world.node("n").await, world.node("other").await);
    let (open, unknown, closed) = (
        world.running_job(&run, 0, node, MINUTE).await,
        world.running_job(&run, 1, node, MINUTE).await,
        world.running_job(&run, 2, node, MINUTE).await,
    );
    let foreign = world.running_job(&run, 3, other, MINUTE).await;
    write_tx!(world.store, tx => {
        tx.job_close(unknown, JobStatus::LeaseExpired, None).await?;
        tx.job_close(closed, JobStatus::Completed, None).await
    });
    let successor = IncarnationId::generate();
    let adopt = |from: Option<IncarnationId>| {
        let store = world.store.clone();
        async move { write_tx!(store, tx => tx.job_adopt(node, from, successor).await) }
    };

    assert_eq!(adopt(None).await, 0);
    assert_eq!(adopt(Some(process_of(other))).await, 0);
    assert_eq!(adopt(Some(process_of(node))).await, 2);

    for (job, holder) in [
        (open, successor),
        (unknown, successor),
        (closed, process_of(node)),
        (foreign, process_of(other)),
    ] {
        assert_eq!(world.job_now(job).await.incarnation, Some(holder));
    }
}

pub(crate) async fn a_running_job_expires_when_nobody_renews_it(store: Store) {
    let world = World::new(store).await;
    let (run, node) = (world.run("a").await, world.node("n").await);
    let lost = world.running_job(&run, 0, node, 1).await;
    world.running_job(&run, 1, node, MINUTE).await;
    let queued = world.job(&run, 2).await;
    write_tx!(world.store, tx => {
        tx.job_assign(queued, node).await?;
        tx.job_renew(queued, node, process_of(node), 0).await
    });

    let expired = eventually(|| async {
        Some(world.expired_jobs().await).filter(|expired| !expired.is_empty())
    });

    assert_eq!(expired.await, [lost]);
    write_tx!(world.store, tx => tx.job_close(lost, JobStatus::LeaseExpired, None).await);
    assert!(world.expired_jobs().await.is_empty());
}

pub(crate) async fn renewing_all_saves_running_jobs_and_never_shortens_a_lease(store: Store) {
    let world = World::new(store).await;
    let (run, node) = (world.run("a").await, world.node("n").await);
    let short = world.running_job(&run, 0, node, 1).await;
    world.running_job(&run, 1, node, 10 * MINUTE).await;
    world.job(&run, 2).await;
    eventually(|| async { (world.expired_jobs().await == [short]).then_some(()) }).await;

    assert_eq!(write_tx!(world.store, tx => tx.job_renew_all(MINUTE).await), 1);

    assert!(world.expired_jobs().await.is_empty());
    assert_eq!(write_tx!(world.store, tx => tx.job_renew_all(0).await), 0);
    assert!(world.expired_jobs().await.is_empty());
}

pub(crate) async fn a_closed_job_never_changes_again(store: Store) {
    let world = World::new(store).await;
    let (run, node) = (world.run("a").await, world.node("n").await);
    for (step, &end) in (0..).zip(JobStatus::ALL.iter().filter(|status| status.is_terminal())) {
        let job = world.running_job(&run, step, node, MINUTE).await;
        let result = json!({"code": 0, "step": step});
        let kept = result.clone();
        assert!(write_tx!(world.store, tx => tx.job_close(job, end, Some(&result)).await));
        let closed = world.job_now(job).await;
        assert_eq!((closed.status, &closed.result), (end, &Some(kept)));
        assert!(closed.ended_at.is_some());

        for &next in JobStatus::ALL {
            assert!(!write_tx!(world.store, tx => tx.job_close(job, next, None).await));
        }
        write_tx!(world.store, tx => {
            tx.job_assign(job, node).await?;
            assert!(!tx.job_start(job, node, process_of(node), MINUTE).await?);
            tx.job_request_cancel(job).await
        });
        assert_eq!(world.job_now(job).await, closed);
    }
    assert!(read_tx!(world.store, tx => tx.job_list_of_node(node).await).is_empty());
}

pub(crate) async fn what_came_of_an_expired_job_is_added_once_by_its_holder(store: Store) {
    let world = World::new(store).await;
    let (run, node) = (world.run("a").await, world.node("n").await);
    let (unknown, known) = (
        world.running_job(&run, 0, node, MINUTE).await,
        world.running_job(&run, 1, node, MINUTE).await,
    );
    write_tx!(world.store, tx => {
        tx.job_close(unknown, JobStatus::LeaseExpired, None).await?;
        tx.job_close(known, JobStatus::Failed, None).await
    });
    let settle = |job: JobId, process: IncarnationId| {
        let store = world.store.clone();
        let result = json!({"code": 0});
        async move {
            write_tx!(store, tx => {
                tx.job_add_late_result(job, process, JobStatus::Completed, &result).await
            })
        }
    };

    assert!(!settle(unknown, IncarnationId::generate()).await);
    assert!(!settle(known, process_of(node)).await);
    assert!(settle(unknown, process_of(node)).await);
    assert!(!settle(unknown, process_of(node)).await);

    let settled = world.job_now(unknown).await;
    assert_eq!((settled.status, settled.result), (JobStatus::Completed, Some(json!({"code": 0}))));
    assert_eq!(world.job_now(known).await.status, JobStatus::Failed);
}

pub(crate) async fn a_cancel_request_reaches_open_jobs_only(store: Store) {
    let world = World::new(store).await;
    let (run, node) = (world.run("a").await, world.node("n").await);
    let (open, closed) = (world.running_job(&run, 0, node, MINUTE).await, world.job(&run, 1).await);
    write_tx!(world.store, tx => tx.job_close(closed, JobStatus::Failed, None).await);

    for job in [open, closed] {
        write_tx!(world.store, tx => tx.job_request_cancel(job).await);
    }

    assert!(world.job_now(open).await.cancel_requested);
    assert!(!world.job_now(closed).await.cancel_requested);
}
