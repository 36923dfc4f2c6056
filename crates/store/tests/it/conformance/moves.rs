//! Tests of transitions: under the newest lease, in order, once, and compactly.

use std::sync::Arc;

use cynode_domain::ids::{HolderId, JobId, TaskId};
use cynode_domain::status::{RunStatus, TaskStatus};
use cynode_domain::verification::VerificationStatus;
use cynode_store::{
    Effect, EffectWrite, EventCursor, EventFilter, EventPayload, GrantedRun, GraphVersionRange,
    Lease, LeaseToken, RunClaim, RunClosure, Store, TransitionOutcome, TransitionWrite,
};
use cynode_workflow_state::changes::{Changes, StateRecord};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::world::{World, eventually};

const MINUTE: u32 = 60_000;

pub(crate) fn claim(max: u32, lease_ms: u32) -> RunClaim {
    let (holder, versions) = (HolderId::generate(), GraphVersionRange { oldest: 1, newest: 1 });
    RunClaim { holder, lease_ms, versions, max, started_event: "task.started" }
}

fn changed(field: &str, value: Value) -> StateRecord {
    let set = [(field.to_owned(), value)].into();
    StateRecord::Changes(Changes { set, ..Changes::default() })
}

fn plain_transition(lease: &Lease, sequence: i64, record: StateRecord) -> TransitionWrite {
    let lease_token = LeaseToken { task_id: lease.task, lease_id: lease.id, epoch: lease.epoch };
    TransitionWrite {
        lease: lease_token,
        sequence,
        node: format!("node {sequence}"),
        edge: "next".to_owned(),
        subject: (Some(2), Some(JobId::generate())),
        record,
        duration_ms: 12,
        lease_ms: None,
        event: EventPayload { kind: "workflow.transition", data: json!({ "sequence": sequence }) },
        close: None,
    }
}

pub(crate) fn full_state_transition(lease: &Lease, sequence: i64) -> TransitionWrite {
    plain_transition(lease, sequence, StateRecord::Full(json!({ "sequence": sequence })))
}

fn closing_transition(lease: &Lease, sequence: i64, status: TaskStatus) -> TransitionWrite {
    let run =
        if status == TaskStatus::Completed { RunStatus::Completed } else { RunStatus::Failed };
    let event = EventPayload { kind: "task.closed", data: json!({ "status": status.as_str() }) };
    let is_completed = status == TaskStatus::Completed;
    let verification = is_completed.then_some(VerificationStatus::Unverified);
    let close =
        RunClosure { task: status, run, summary: "All is done.".to_owned(), verification, event };
    TransitionWrite { close: Some(close), ..full_state_transition(lease, sequence) }
}

impl World {
    /// A run that a runner has just claimed.
    pub(crate) async fn claimed_lease(&self, name: &str, lease_ms: u32) -> Lease {
        let run = self.run(name).await;
        write_tx!(self.store, tx => {
            let lease = tx.lease_grant(run.task, run.id, HolderId::generate(), lease_ms).await?;
            tx.run_record_grant(&run, GraphVersionRange { oldest: 1, newest: 1 }, "task.started").await?;
            Ok::<_, cynode_store::Error>(lease.unwrap())
        })
    }

    /// A run that a runner has claimed for three seconds, with a transition before the lease expires. If the
    /// machine is too slow for that, another run is tried.
    async fn transition_before_expiry(&self, name: &str, lease_ms: Option<u32>) -> Lease {
        let mut number = 0;
        loop {
            let lease = self.claimed_lease(&format!("{name}{number}"), 3_000).await;
            if self
                .write_transition(TransitionWrite { lease_ms, ..full_state_transition(&lease, 1) })
                .await
                .is_some()
            {
                return lease;
            }
            assert!(!self.is_live(&lease).await, "a move in time was refused");
            number += 1;
        }
    }

    async fn is_live(&self, lease: &Lease) -> bool {
        let task = lease.task;
        read_tx!(self.store, tx => tx.lease_get(task).await).unwrap().is_live
    }

    pub(crate) async fn claim(&self, claim: RunClaim) -> Vec<GrantedRun> {
        self.store.run_claim(claim).await.unwrap()
    }

    pub(crate) async fn write_transition(
        &self,
        write: TransitionWrite,
    ) -> Option<TransitionOutcome> {
        self.store.transition(Arc::new(write)).await.unwrap()
    }

    async fn position(&self, task: TaskId) -> i64 {
        read_tx!(self.store, tx => tx.checkpoint_position(task).await)
    }

    /// The events of a task, once there are `count`: PostgreSQL shows the events of an operation while an older
    /// one of another test is open, but not those that follow.
    async fn events(&self, task: TaskId, count: usize) -> Vec<String> {
        let filter = EventFilter { owner: None, task: Some(task) };
        let read = || async {
            let start = EventCursor::default();
            let listed = read_tx!(self.store, tx => tx.event_list(start, filter, 100).await);
            Some(listed).filter(|listed| listed.len() >= count)
        };
        eventually(read).await.into_iter().map(|event| event.kind).collect()
    }
}

pub(crate) async fn a_move_advances_the_checkpoint_adds_history_and_tells_of_it(store: Store) {
    let world = World::new(store).await;
    let lease = world.claimed_lease("a", MINUTE).await;
    let (first, second) =
        (full_state_transition(&lease, 1), plain_transition(&lease, 2, changed("b", Value::Null)));

    assert!(world.write_transition(first.clone()).await.is_some());
    assert!(world.write_transition(second.clone()).await.is_some());

    let checkpoint = read_tx!(world.store, tx => tx.checkpoint_get(lease.task).await).unwrap();
    assert_eq!((checkpoint.sequence, checkpoint.last_node.as_str()), (2, "node 2"));
    assert_eq!(checkpoint.state, json!({ "sequence": 1, "b": null }));
    let history = read_tx!(world.store, tx => tx.history_list(lease.run).await);
    let kept: Vec<_> =
        history.iter().map(|row| (&row.record, (row.step_index, row.job), row.epoch)).collect();
    assert_eq!(kept, [(&first.record, first.subject, 1), (&second.record, second.subject, 1)]);
    let expected = ["task.started", "workflow.transition", "workflow.transition"];
    assert_eq!(world.events(lease.task, expected.len()).await, expected);
}

pub(crate) async fn a_move_out_of_order_is_not_made(store: Store) {
    let world = World::new(store).await;
    let lease = world.claimed_lease("a", MINUTE).await;
    assert!(world.write_transition(full_state_transition(&lease, 1)).await.is_some());

    for sequence in [1, 3, 0, -1, i64::MAX] {
        assert_eq!(
            world.write_transition(full_state_transition(&lease, sequence)).await,
            None,
            "{sequence}"
        );
    }

    assert_eq!(world.position(lease.task).await, 1);
    assert_eq!(read_tx!(world.store, tx => tx.history_list(lease.run).await).len(), 1);
}

pub(crate) async fn a_stale_an_expired_and_a_fenced_holder_move_nothing(store: Store) {
    let world = World::new(store).await;
    let old = world.claimed_lease("a", 1).await;
    let new = eventually(|| async { world.claim(claim(1, MINUTE)).await.pop() }).await.lease;
    assert!(new.epoch > old.epoch);
    assert_eq!(world.write_transition(full_state_transition(&old, 1)).await, None);
    let mixed = Lease { id: old.id, ..new };
    assert_eq!(world.write_transition(full_state_transition(&mixed, 1)).await, None);
    assert!(world.write_transition(full_state_transition(&new, 1)).await.is_some());

    write_tx!(world.store, tx => tx.lease_fence(new.task).await);

    assert_eq!(world.write_transition(full_state_transition(&new, 2)).await, None);
    let brief = world.claimed_lease("b", 1).await;
    eventually(|| async {
        let lease = read_tx!(world.store, tx => tx.lease_get(brief.task).await).unwrap();
        (!lease.is_live).then_some(())
    })
    .await;
    assert_eq!(world.write_transition(full_state_transition(&brief, 1)).await, None);
    assert_eq!((world.position(new.task).await, world.position(brief.task).await), (1, 0));
}

pub(crate) async fn the_last_move_ends_task_run_and_lease_together(store: Store) {
    let world = World::new(store).await;
    let lease = world.claimed_lease("a", MINUTE).await;

    let moved = world.write_transition(closing_transition(&lease, 1, TaskStatus::Completed)).await;

    assert_eq!(
        moved,
        Some(TransitionOutcome { is_paused: false, is_awaited: false, is_lease_due: false })
    );
    let task = world.task_now(lease.task).await;
    assert_eq!(
        (task.status, task.summary.as_deref()),
        (TaskStatus::Completed, Some("All is done."))
    );
    assert_eq!(task.verification, Some(VerificationStatus::Unverified));
    assert!(task.ended_at.is_some());
    let run = read_tx!(world.store, tx => tx.run_of_task(lease.task).await).unwrap();
    assert_eq!(run.status, RunStatus::Completed);
    let freed = read_tx!(world.store, tx => tx.lease_get(lease.task).await).unwrap();
    assert_eq!((freed.holder, freed.is_live), (None, false));
    let expected = ["task.started", "workflow.transition", "task.closed"];
    assert_eq!(world.events(lease.task, expected.len()).await, expected);
    assert!(world.claim(claim(8, MINUTE)).await.is_empty());
}

pub(crate) async fn a_closed_task_is_not_ended_again(store: Store) {
    let world = World::new(store).await;
    let lease = world.claimed_lease("a", MINUTE).await;
    write_tx!(world.store, tx => tx.task_set_status(lease.task, TaskStatus::Canceled, None).await);

    assert_eq!(
        world.write_transition(closing_transition(&lease, 1, TaskStatus::Failed)).await,
        None
    );

    assert_eq!(world.task_now(lease.task).await.status, TaskStatus::Canceled);
    assert_eq!(world.position(lease.task).await, 0);
}

pub(crate) async fn moves_of_many_runs_at_once_are_each_made_once(store: Store) {
    let world = World::new(store).await;
    for number in 0..24 {
        world.run(&format!("t{number}")).await;
    }
    let granted = world.claim(claim(64, MINUTE)).await;
    assert_eq!(granted.len(), 24);

    let mut drivers = JoinSet::new();
    for granted in granted {
        let store = world.store.clone();
        drivers.spawn(async move {
            let lease = granted.lease;
            for sequence in 1..=9 {
                // Each is sent twice, as after a lost reply: one of the two is written.
                let write =
                    Arc::new(plain_transition(&lease, sequence, StateRecord::Full(json!({}))));
                let (one, other) =
                    tokio::join!(store.transition(Arc::clone(&write)), store.transition(write));
                let made = usize::from(one.unwrap().is_some());
                assert_eq!(made + usize::from(other.unwrap().is_some()), 1);
            }
            let end = Arc::new(closing_transition(&lease, 10, TaskStatus::Completed));
            assert!(store.transition(end).await.unwrap().is_some());
            lease
        });
    }

    for lease in drivers.join_all().await {
        assert_eq!(read_tx!(world.store, tx => tx.history_list(lease.run).await).len(), 10);
    }
    assert_eq!(read_tx!(world.store, tx => tx.task_count(TaskStatus::Completed).await), 24);
}

pub(crate) async fn the_state_at_every_row_is_what_it_was_then(store: Store) {
    let world = World::new(store).await;
    let lease = world.claimed_lease("a", MINUTE).await;
    let base = |text: &str| StateRecord::Full(json!({ "text": text }));
    let records = [
        base("first"),
        changed("n", json!(1)),
        changed("n", json!(2)),
        base("second"),
        changed("n", json!({ "deep": null })),
    ];
    for (sequence, record) in (1..).zip(records) {
        assert!(world.write_transition(plain_transition(&lease, sequence, record)).await.is_some());
    }

    let mut states = vec![];
    for sequence in 1..=5 {
        let run = lease.run;
        states.push(read_tx!(world.store, tx => tx.state_at(run, sequence).await).unwrap());
    }

    let expected = [
        json!({ "text": "first" }),
        json!({ "text": "first", "n": 1 }),
        json!({ "text": "first", "n": 2 }),
        json!({ "text": "second" }),
        json!({ "text": "second", "n": { "deep": null } }),
    ];
    assert_eq!(states, expected);
    for nowhere in [0, 6] {
        let state = read_tx!(world.store, tx => tx.state_at(lease.run, nowhere).await);
        assert_eq!(state, None);
    }
}

pub(crate) async fn a_move_extends_a_lease_of_which_a_third_is_over(store: Store) {
    let world = World::new(store).await;
    let kept = world.transition_before_expiry("a", Some(60 * MINUTE)).await;
    let other = world.transition_before_expiry("b", None).await;

    // The other lease was granted later for the same duration: when it expires, so has the first.
    eventually(|| async { (!world.is_live(&other).await).then_some(()) }).await;

    assert!(world.is_live(&kept).await);
}

pub(crate) async fn an_effect_is_journalled_by_the_holder_only_and_once(store: Store) {
    let world = World::new(store).await;
    let lease = world.claimed_lease("a", MINUTE).await;
    let lease_token = LeaseToken { task_id: lease.task, lease_id: lease.id, epoch: lease.epoch };
    let effect = |answer: i64| Effect { key: "1/dispatch".to_owned(), answer: json!(answer) };
    let journal = |lease_token: LeaseToken, effect: Effect| {
        let store = world.store.clone();
        async move {
            let body = store.batch(EffectWrite { lease: lease_token, effect });
            body.await.unwrap()
        }
    };

    assert!(!journal(LeaseToken { epoch: lease.epoch + 1, ..lease_token }, effect(0)).await);
    assert!(journal(lease_token, effect(1)).await);
    assert!(!journal(lease_token, effect(2)).await);
    let key = || Effect { key: "1/repeated".to_owned(), answer: json!(3) };
    let repeated = join_all((0..8).map(|_| journal(lease_token, key()))).await;

    assert_eq!(repeated.into_iter().filter(|is_journaled| *is_journaled).count(), 1);
    let kept = read_tx!(world.store, tx => tx.effect_list(lease.run, 0).await);
    assert_eq!(kept, [effect(1), key()]);
}

pub(crate) async fn effects_of_a_name_are_counted_without_those_of_one_thing(store: Store) {
    let world = World::new(store).await;
    let (lease, other) =
        (world.claimed_lease("a", MINUTE).await, world.claimed_lease("b", MINUTE).await);
    let keys =
        ["3/verify/continue/x", "6/verify/continue/y", "9/verify/continue/z", "9/verify/verify/z"];
    for (run, key) in keys.map(|key| (lease.run, key)).into_iter().chain([(other.run, keys[0])]) {
        let effect = Effect { key: key.to_owned(), answer: json!(1) };
        write_tx!(world.store, tx => tx.effect_record(run, 1, &effect).await);
    }

    for (run, but, expected) in [(lease.run, "z", 2), (lease.run, "", 3), (other.run, "x", 0)] {
        let others =
            read_tx!(world.store, tx => tx.effect_count_others(run, "continue", but).await);
        assert_eq!(others, expected, "{but}");
    }
}
