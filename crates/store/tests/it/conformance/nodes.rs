//! Tests of worker nodes.

use cynode_domain::ids::{IncarnationId, NodeId, TokenId};
use cynode_domain::status::{JobStatus, NodeStatus};
use cynode_store::{JoinToken, Node, Store};
use serde_json::json;

use crate::world::{World, at, eventually, new_node, process_of};

impl World {
    async fn node_now(&self, id: NodeId) -> Node {
        read_tx!(self.store, tx => tx.node_get(id).await).unwrap()
    }

    async fn set_status(&self, id: NodeId, status: NodeStatus) {
        write_tx!(self.store, tx => tx.node_set_status(id, status).await);
    }

    /// The node's process polls.
    pub(crate) async fn touch(&self, id: NodeId) {
        write_tx!(self.store, tx => {
            tx.node_set_process(id, process_of(id)).await?;
            tx.node_record_poll(id, process_of(id), None).await
        });
    }
}

pub(crate) async fn a_node_that_registers_again_keeps_its_id(store: Store) {
    let world = World::new(store).await;
    let id = world.node("n").await;
    world.set_status(id, NodeStatus::Drained).await;
    let again = Node {
        token_hash: b"another token".to_vec(),
        public_key: Some(b"another key".to_vec()),
        capabilities: json!({"cores": 64}),
        sandbox_supported: false,
        max_concurrency: 9,
        created_at: at(50),
        ..new_node("n")
    };
    let given = again.clone();

    assert_eq!(write_tx!(world.store, tx => tx.node_register(&given).await), id);

    let expected = Node { id, status: NodeStatus::Drained, created_at: at(0), ..again };
    assert_eq!(world.node_now(id).await, expected);
    assert_eq!(read_tx!(world.store, tx => tx.node_list().await), [expected]);
}

pub(crate) async fn a_node_is_found_by_slug_and_by_token(store: Store) {
    let world = World::new(store).await;
    let (id, _) = (world.node("n").await, world.node("other").await);
    let node = world.node_now(id).await;

    let by_slug = read_tx!(world.store, tx => tx.node_by_slug("n").await);
    let by_token = read_tx!(world.store, tx => tx.node_by_token(b"token of n").await);

    assert_eq!((by_slug, by_token), (Some(node.clone()), Some(node)));
    assert_eq!(read_tx!(world.store, tx => tx.node_by_token(b"guess").await), None);
    assert_eq!(read_tx!(world.store, tx => tx.node_get(NodeId::generate()).await), None);
    let thief = Node { token_hash: b"token of n".to_vec(), ..new_node("thief") };
    let refused = try_write_tx!(world.store, tx => tx.node_register(&thief).await);
    assert!(refused.unwrap_err().is_duplicate());
}

pub(crate) async fn nodes_are_listed_by_slug_in_byte_order(store: Store) {
    let world = World::new(store).await;
    for slug in ["b", "a-b", "ab", "B", "a"] {
        world.node(slug).await;
    }

    let nodes = read_tx!(world.store, tx => tx.node_list().await);

    let slugs: Vec<_> = nodes.iter().map(|node| node.slug.as_str()).collect();
    assert_eq!(slugs, ["B", "a", "a-b", "ab", "b"]);
}

pub(crate) async fn a_poll_activates_a_node_unless_it_is_drained(store: Store) {
    let world = World::new(store).await;
    let id = world.node("n").await;
    assert_eq!(world.node_now(id).await.last_seen_at, None);

    world.touch(id).await;
    let polled = world.node_now(id).await;
    assert_eq!(polled.status, NodeStatus::Active);
    assert!(polled.last_seen_at.is_some());

    world.set_status(id, NodeStatus::Inactive).await;
    world.touch(id).await;
    assert_eq!(world.node_now(id).await.status, NodeStatus::Active);

    world.set_status(id, NodeStatus::Drained).await;
    world.touch(id).await;
    let drained = world.node_now(id).await;
    assert_eq!(drained.status, NodeStatus::Drained);
    assert!(drained.last_seen_at > polled.last_seen_at);
}

pub(crate) async fn one_process_at_a_time_works_under_a_nodes_name(store: Store) {
    let world = World::new(store).await;
    let id = world.node("n").await;
    let (first, second) = (IncarnationId::generate(), IncarnationId::generate());
    let tenure =
        || async { write_tx!(world.store.clone(), tx => tx.node_lock_process(id).await).unwrap() };
    let touch = |process: IncarnationId| {
        let store = world.store.clone();
        async move { write_tx!(store, tx => tx.node_record_poll(id, process, None).await) }
    };
    assert_eq!((tenure().await.incarnation, tenure().await.silent_ms), (None, None));
    assert!(!touch(first).await);

    write_tx!(world.store, tx => tx.node_set_process(id, first).await);
    assert!(touch(first).await && !touch(second).await);
    assert_eq!(tenure().await.incarnation, Some(first));
    assert!(tenure().await.silent_ms.is_some_and(|silent| silent < 600_000));

    assert!(!write_tx!(world.store, tx => tx.node_clear_process(id, second).await));
    assert!(write_tx!(world.store, tx => tx.node_clear_process(id, first).await));
    assert_eq!(tenure().await.incarnation, None);
    assert!(!touch(first).await);
}

pub(crate) async fn a_silent_node_is_retired(store: Store) {
    let world = World::new(store).await;
    let (active, drained, _new) =
        (world.node("active").await, world.node("drained").await, world.node("new").await);
    for id in [active, drained] {
        world.touch(id).await;
    }
    world.set_status(drained, NodeStatus::Drained).await;
    let retire = |silent_ms| {
        let store = world.store.clone();
        async move { write_tx!(store, tx => tx.node_deactivate_silent(silent_ms).await) }
    };
    assert_eq!(retire(600_000).await, 0);

    let retired = eventually(|| async { Some(retire(1).await).filter(|retired| *retired > 0) });

    assert_eq!(retired.await, 1);
    assert_eq!(world.node_now(active).await.status, NodeStatus::Inactive);
    assert_eq!(world.node_now(drained).await.status, NodeStatus::Drained);
}

pub(crate) async fn a_node_counts_its_open_jobs(store: Store) {
    let world = World::new(store).await;
    let (run, id) = (world.run("a").await, world.node("n").await);
    let first = world.running_job(&run, 0, id, 60_000).await;
    world.running_job(&run, 1, id, 60_000).await;
    world.job(&run, 2).await;
    assert_eq!(world.node_now(id).await.open_jobs, 2);

    write_tx!(world.store, tx => tx.job_close(first, JobStatus::Completed, None).await);

    assert_eq!(world.node_now(id).await.open_jobs, 1);
}

pub(crate) async fn a_removed_node_leaves_its_name_and_its_row(store: Store) {
    let world = World::new(store).await;
    let id = world.node("n").await;
    let node = world.node_now(id).await;
    let row = node.clone();
    write_tx!(world.store, tx => tx.node_revoke_key(&row, b"unusable").await);
    let revoked = world.node_now(id).await;
    assert_eq!((revoked.public_key, revoked.is_key_revoked), (None, true));
    assert_eq!(read_tx!(world.store, tx => tx.node_by_token(b"token of n").await), None);

    write_tx!(world.store, tx => tx.node_remove(&node, b"unusable too").await);

    assert_eq!(read_tx!(world.store, tx => tx.node_list().await), []);
    assert_eq!(read_tx!(world.store, tx => tx.node_get(id).await), None);
    assert_eq!(read_tx!(world.store, tx => tx.node_by_token(b"unusable too").await), None);
    assert_ne!(world.node("n").await, id);
}

pub(crate) async fn a_join_token_is_used_revoked_and_deleted(store: Store) {
    let world = World::new(store).await;
    let node = world.node("n").await;
    let token = |name: &str, seconds| JoinToken {
        id: TokenId::generate(),
        hash: name.as_bytes().to_vec(),
        node_slug: None,
        created_by: world.user,
        created_at: at(0),
        expires_at: at(seconds),
        used_at: None,
        used_by: None,
        revoked_at: None,
    };
    let (old, new) = (token("old", 10), token("new", 90));
    let (first, second) = (old.clone(), new.clone());
    write_tx!(world.store, tx => {
        tx.join_token_insert(&first).await?;
        tx.join_token_insert(&second).await
    });

    let id = new.id;
    write_tx!(world.store, tx => tx.join_token_use(id, node, at(5)).await);
    assert!(write_tx!(world.store, tx => tx.join_token_revoke(id, at(6)).await));
    assert!(write_tx!(world.store, tx => tx.join_token_revoke(id, at(7)).await));

    let changed =
        JoinToken { used_at: Some(at(5)), used_by: Some(node), revoked_at: Some(at(6)), ..new };
    let found = write_tx!(world.store, tx => tx.join_token_lock(b"new").await);
    assert_eq!(found.as_ref(), Some(&changed));
    let all = read_tx!(world.store, tx => tx.join_token_list(None, 5).await);
    assert_eq!(all, [changed.clone(), old]);
    let before = read_tx!(world.store, tx => tx.join_token_list(Some(id), 5).await);
    assert_eq!(before, all[1..]);
    assert_eq!(write_tx!(world.store, tx => tx.join_token_delete_expired(at(50)).await), 1);
    assert_eq!(read_tx!(world.store, tx => tx.join_token_list(None, 5).await), [changed]);
}
