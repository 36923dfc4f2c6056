//! Tests of task leases.

use cynode_domain::ids::{HolderId, LeaseId};
use cynode_store::{Lease, LeaseWait, Run, StaleLease, Store};
use tokio::task::JoinSet;

use crate::world::{World, eventually};

const MINUTE: u32 = 60_000;

impl World {
    async fn grant(&self, run: Run, lifetime_ms: u32) -> Option<Lease> {
        let holder = HolderId::generate();
        write_tx!(self.store, tx => tx.lease_grant(run.task, run.id, holder, lifetime_ms).await)
    }

    async fn check(&self, lease: Lease) -> Result<Lease, StaleLease> {
        write_tx!(self.store, tx => tx.lease_check(lease.task, lease.id, lease.epoch).await)
    }

    async fn renew(&self, lease: Lease, lifetime_ms: u32) -> Result<(), StaleLease> {
        write_tx!(self.store, tx => tx.lease_renew(&lease, lifetime_ms).await)
    }

    async fn release(&self, lease: Lease) {
        write_tx!(self.store, tx => tx.lease_release(lease.task, lease.id, lease.epoch).await);
    }

    async fn lease(&self, run: Run) -> Option<Lease> {
        read_tx!(self.store, tx => tx.lease_get(run.task).await)
    }

    /// An expired lease.
    async fn expired(&self, run: Run) -> Lease {
        let lease = self.grant(run, 1).await.unwrap();
        eventually(|| async { self.lease(run).await.filter(|lease| !lease.is_live) }).await;
        lease
    }
}

pub(crate) async fn a_live_lease_is_granted_to_nobody_else(store: Store) {
    let world = World::new(store).await;
    let (run, other) = (world.run("a").await, world.run("b").await);
    assert_eq!(world.lease(run).await, None);

    let lease = world.grant(run, MINUTE).await.unwrap();

    assert_eq!(world.grant(run, MINUTE).await, None);
    assert_eq!(world.lease(run).await, Some(lease));
    assert!(lease.is_live && lease.holder.is_some());
    assert!(world.grant(other, MINUTE).await.is_some());
}

pub(crate) async fn what_a_node_waits_for_is_known_while_its_lease_lives(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let said =
        |what: &str| LeaseWait { node: "collect_result".to_owned(), reason: what.to_owned() };
    let (first, second, late) = (said("job 7"), said("job 8"), said("job 9"));
    let known = async || read_tx!(world.store, tx => tx.lease_get_wait(run.task).await);
    let lease = world.grant(run, MINUTE).await.unwrap();
    assert_eq!(known().await, None);

    write_tx!(world.store, tx => tx.lease_set_wait(&lease, &first).await);
    let newest = second.clone();
    write_tx!(world.store, tx => tx.lease_set_wait(&lease, &newest).await);
    assert_eq!(known().await, Some(second));

    world.release(lease).await;
    assert_eq!(known().await, None);
    world.grant(run, MINUTE).await.unwrap();
    // A former holder can report nothing more.
    write_tx!(world.store, tx => tx.lease_set_wait(&lease, &late).await);
    assert_ne!(known().await.map(|said| said.reason), Some("job 9".to_owned()));
}

pub(crate) async fn a_free_or_expired_lease_is_granted_in_a_higher_epoch(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let mut epochs = vec![];
    for _ in 0..2 {
        let lease = world.grant(run, MINUTE).await.unwrap();
        world.release(lease).await;
        let free = world.lease(run).await.unwrap();
        assert_eq!((free.holder, free.is_live), (None, false));
        epochs.extend([lease.epoch, world.expired(run).await.epoch]);
    }
    let lease = world.grant(run, MINUTE).await.unwrap();
    epochs.push(lease.epoch);
    write_tx!(world.store, tx => tx.lease_fence(run.task).await);
    epochs.push(world.grant(run, MINUTE).await.unwrap().epoch);

    assert!(epochs.is_sorted_by(|earlier, later| earlier < later), "{epochs:?}");
}

pub(crate) async fn a_lease_in_force_passes_its_check(store: Store) {
    let world = World::new(store).await;
    let lease = world.grant(world.run("a").await, MINUTE).await.unwrap();

    assert_eq!(world.check(lease).await, Ok(lease));
    assert_eq!(world.renew(lease, MINUTE).await, Ok(()));
    assert_eq!(world.check(lease).await, Ok(lease));
}

pub(crate) async fn a_stranger_can_neither_check_nor_renew_nor_release(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let lease = world.grant(run, MINUTE).await.unwrap();

    for stranger in [
        Lease { id: LeaseId::generate(), ..lease },
        Lease { epoch: lease.epoch + 1, ..lease },
        Lease { epoch: lease.epoch - 1, ..lease },
        Lease { task: world.task(&format!("t{}", LeaseId::generate())).await, ..lease },
    ] {
        assert_eq!(world.check(stranger).await, Err(StaleLease));
        assert_eq!(world.renew(stranger, MINUTE).await, Err(StaleLease));
        world.release(stranger).await;
        assert_eq!(world.lease(run).await, Some(lease));
    }
}

pub(crate) async fn a_fenced_holder_is_refused(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let lease = world.grant(run, MINUTE).await.unwrap();

    write_tx!(world.store, tx => tx.lease_fence(run.task).await);

    assert_eq!(world.check(lease).await, Err(StaleLease));
    assert_eq!(world.renew(lease, MINUTE).await, Err(StaleLease));
    let next = world.grant(run, MINUTE).await.unwrap();
    world.release(lease).await;
    assert_eq!(world.check(next).await, Ok(next));
}

pub(crate) async fn an_expired_lease_is_refused_until_it_is_granted_again(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let lease = world.expired(run).await;

    assert_eq!(world.check(lease).await, Err(StaleLease));
    assert_eq!(world.renew(lease, MINUTE).await, Err(StaleLease));

    let next = world.grant(run, MINUTE).await.unwrap();
    assert_eq!(world.check(next).await, Ok(next));
    assert_eq!(world.check(lease).await, Err(StaleLease));
}

pub(crate) async fn a_renewed_lease_outlives_its_first_term(store: Store) {
    let world = World::new(store).await;
    let (run, clock) = (world.run("a").await, world.run("b").await);
    let lease = loop {
        let lease = world.grant(run, 3000).await.unwrap();
        let shadow = world.grant(clock, 3000).await.unwrap();
        let renewed = world.renew(lease, 60 * MINUTE).await;
        let is_over = world.lease(run).await.is_some_and(|lease| !lease.is_live);
        // The second lease was granted later for the same duration: when it expires, so has the first.
        eventually(|| async { world.check(shadow).await.err() }).await;
        if renewed.is_ok() {
            break lease;
        }
        // If the machine was too slow to renew it in time, it is granted again.
        assert!(is_over, "a renewal in time was refused");
    };

    assert_eq!(world.check(lease).await, Ok(lease));
}

pub(crate) async fn leases_of_a_runner_that_has_ended_are_free_and_those_of_others_are_not(
    store: Store,
) {
    let world = World::new(store).await;
    let (run, second, other) = (world.run("a").await, world.run("b").await, world.run("c").await);
    let holder = HolderId::generate();
    let lease =
        write_tx!(world.store, tx => tx.lease_grant(run.task, run.id, holder, MINUTE).await);
    write_tx!(world.store, tx => tx.lease_grant(second.task, second.id, holder, MINUTE).await);
    let kept = world.grant(other, MINUTE).await.unwrap();

    let freed = write_tx!(world.store, tx => tx.lease_release_holder(holder).await);
    let again = write_tx!(world.store, tx => tx.lease_release_holder(holder).await);

    assert_eq!((freed, again), (2, 0));
    assert_eq!(world.check(lease.unwrap()).await, Err(StaleLease));
    assert_eq!(world.grant(run, MINUTE).await.unwrap().epoch, 2);
    assert_eq!(world.check(kept).await, Ok(kept));
}

pub(crate) async fn of_many_concurrent_claims_one_is_granted(store: Store) {
    let world = World::new(store).await;
    let run = world.run("a").await;
    let mut claims = JoinSet::new();
    for _ in 0..16 {
        let (store, holder) = (world.store.clone(), HolderId::generate());
        claims.spawn(async move {
            write_tx!(store, tx => tx.lease_grant(run.task, run.id, holder, MINUTE).await)
        });
    }

    let granted: Vec<_> = claims.join_all().await.into_iter().flatten().collect();

    assert_eq!(granted.len(), 1);
    assert_eq!(world.lease(run).await, Some(granted[0]));
}
