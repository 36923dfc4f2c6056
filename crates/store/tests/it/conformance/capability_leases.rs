//! Capability leases, their keys, and audit records of worker nodes.

use cynode_domain::ids::{CapabilityLeaseId, ChainId, TokenId};
use cynode_store::{
    AuditRecord, CapabilityLease, ChainExtension, ChainHead, EdgeSealedRecord, LOG_CHAIN, Store,
    TrustedLeaseKey,
};
use serde_json::json;
use uuid::Uuid;

use super::audit::{call, denied, keys, open_writer, success, verify};
use crate::world::{World, at};

pub(crate) async fn a_lease_is_listed_revoked_once_and_deleted_after_its_end(store: Store) {
    let world = World::new(store).await;
    let (node, other) = (world.node("n").await, world.node("m").await);
    let lease = |node, seconds| CapabilityLease {
        id: CapabilityLeaseId::generate(),
        node,
        node_key: node.to_string(),
        token: TokenId::generate(),
        user: world.user,
        claims: json!({ "tools": ["sandbox.exec"] }),
        issued_at: at(0),
        expires_at: at(seconds),
        revoked_at: None,
        revoked_reason: None,
    };
    let (first, second, third) = (lease(node, 10), lease(node, 90), lease(other, 90));
    for lease in [&first, &second, &third].map(Clone::clone) {
        write_tx!(world.store, tx => tx.capability_lease_insert(&lease).await);
    }

    let id = second.id;
    assert!(
        write_tx!(world.store, tx => tx.capability_lease_revoke(id, "task closed", at(5)).await)
    );
    assert!(!write_tx!(world.store, tx => tx.capability_lease_revoke(id, "again", at(6)).await));

    let revoked = CapabilityLease {
        revoked_at: Some(at(5)),
        revoked_reason: Some("task closed".to_owned()),
        ..second
    };
    let found = read_tx!(world.store, tx => tx.capability_lease_get(id).await);
    assert_eq!(found.as_ref(), Some(&revoked));
    let key = node.to_string();
    let valid = read_tx!(world.store, tx => tx.capability_lease_unexpired(&key, at(10), 5).await);
    assert_eq!(valid, std::slice::from_ref(&revoked));
    let (key, user) = (node.to_string(), world.user);
    let count = read_tx!(world.store, tx => tx.capability_lease_count(&key, user, at(9)).await);
    assert_eq!(count, (2, 2));
    let all = read_tx!(world.store, tx => tx.capability_lease_list(Some(user), None, 5).await);
    assert_eq!(all, [third.clone(), revoked.clone(), first]);
    assert_eq!(write_tx!(world.store, tx => tx.capability_lease_delete_expired(at(50)).await), 1);
    let left = read_tx!(world.store, tx => tx.capability_lease_list(None, None, 5).await);
    assert_eq!(left, [third, revoked]);
}

pub(crate) async fn a_retired_lease_key_is_listed_for_a_while(store: Store) {
    let (owner, another) = (Uuid::now_v7(), Uuid::now_v7());
    let key = |id: &str, owner, seconds| TrustedLeaseKey {
        id: id.to_owned(),
        public_key: format!("key {id}"),
        owner,
        created_at: at(seconds),
    };
    let (old, new, theirs) = (key("a", owner, 1), key("b", owner, 2), key("c", another, 3));
    let again = TrustedLeaseKey { public_key: "x".into(), ..old.clone() };
    for key in [old.clone(), new.clone(), theirs.clone(), again] {
        write_tx!(store, tx => tx.lease_key_insert(&key).await);
    }

    write_tx!(store, tx => tx.lease_key_retire_others(owner, "b", at(10)).await);
    write_tx!(store, tx => tx.lease_key_retire_others(owner, "b", at(99)).await);

    let all = [theirs.clone(), new.clone(), old];
    assert_eq!(read_tx!(store, tx => tx.lease_key_list(at(9)).await), all);
    assert_eq!(read_tx!(store, tx => tx.lease_key_list(at(10)).await), [theirs, new]);
}

pub(crate) async fn a_chain_belongs_to_the_key_that_began_it(store: Store) {
    let (chain, own) = (ChainId::generate(), ChainId::generate());
    open_writer(&store, own).await;

    assert!(write_tx!(store, tx => tx.edge_chain_bind(chain, "n", "key").await));
    assert!(write_tx!(store, tx => tx.edge_chain_bind(chain, "n", "key").await));
    assert!(!write_tx!(store, tx => tx.edge_chain_bind(chain, "n", "another").await));
    // Chains of an orchestrator, and of the other logs.
    assert!(!write_tx!(store, tx => tx.edge_chain_bind(own, "n", "key").await));
    assert!(!write_tx!(store, tx => tx.edge_chain_bind(LOG_CHAIN, "n", "key").await));
}

/// Records as a node seals them.
fn seal(head: &mut ChainHead, records: Vec<AuditRecord>) -> Vec<EdgeSealedRecord> {
    let sealed = records.into_iter().map(|record| {
        let seal = head.seal(&record);
        EdgeSealedRecord { seq: seal.seq, hash: seal.hash, record }
    });
    sealed.collect()
}

pub(crate) async fn records_of_a_node_are_stored_once_whatever_is_repeated(store: Store) {
    let chain = ChainId::generate();
    let mut head = ChainHead::new(chain);
    let first = call(1);
    let begun = seal(&mut head, vec![AuditRecord::Call(Box::new(first.clone()))]);
    let rest =
        vec![AuditRecord::Outcome(success(first.id)), AuditRecord::Call(Box::new(denied(2)))];
    let rest = seal(&mut head, rest);
    let whole = [begun.clone(), rest.clone()].concat();
    let extend = async |records: Vec<EdgeSealedRecord>| write_tx!(store, tx => tx.edge_chain_extend(chain, &keys(), records.clone()).await);

    assert_eq!(extend(begun.clone()).await, ChainExtension::Stored { seq: 1 });
    assert_eq!(extend(begun).await, ChainExtension::Stored { seq: 1 });
    assert_eq!(extend(whole.clone()).await, ChainExtension::Stored { seq: 3 });
    assert_eq!(extend(whole.clone()).await, ChainExtension::Stored { seq: 3 });
    assert_eq!(extend(vec![]).await, ChainExtension::Stored { seq: 3 });

    let stored = read_tx!(store, tx => tx.call_get(first.id).await).unwrap();
    assert_eq!((stored.chain, stored.seq, stored.outcome), (chain, 1, Some(success(first.id))));
    let reports = verify(&store).await;
    assert!(reports.iter().all(|report| report.faults.is_empty()), "{reports:?}");
}

pub(crate) async fn records_that_do_not_continue_a_nodes_chain_are_refused(store: Store) {
    let chain = ChainId::generate();
    let (own, gateway) = (ChainId::generate(), call(7));
    let writer = open_writer(&store, own).await;
    writer.call(gateway.clone()).await.unwrap();
    let mut head = ChainHead::new(chain);
    let kept = seal(&mut head, vec![AuditRecord::Call(Box::new(call(1)))]);
    let extend = async |records: Vec<EdgeSealedRecord>| write_tx!(store, tx => tx.edge_chain_extend(chain, &keys(), records.clone()).await);
    assert_eq!(extend(kept.clone()).await, ChainExtension::Stored { seq: 1 });
    let next = |record: AuditRecord| seal(&mut head.clone(), vec![record]);

    let another = seal(&mut ChainHead::new(chain), vec![AuditRecord::Call(Box::new(call(9)))]);
    let mut skipped = next(AuditRecord::Call(Box::new(call(2))));
    skipped[0].seq = 3;
    let mut forged = next(AuditRecord::Call(Box::new(call(2))));
    forged[0].hash = vec![0; 32];
    // The outcome of a call that another process has open.
    let foreign = next(AuditRecord::Outcome(success(gateway.id)));
    for (records, expected) in
        [(another, "differs"), (skipped, "missing"), (forged, "hash"), (foreign, "open call")]
    {
        match extend(records).await {
            ChainExtension::Refused { reason } => assert!(reason.contains(expected), "{reason}"),
            stored @ ChainExtension::Stored { .. } => panic!("{expected}: {stored:?}"),
        }
    }
    assert_eq!(extend(kept).await, ChainExtension::Stored { seq: 1 });
    writer.record_outcome(success(gateway.id)).await.unwrap();
}
