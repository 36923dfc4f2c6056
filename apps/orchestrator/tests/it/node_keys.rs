//! The identity of worker nodes: keys, one-time join tokens, rotation and removal.

use std::time::Duration;

use cynode_client::NodeKey;
use cynode_testkit::query;
use cynode_wire::nodes::{CreateJoinToken, NodeKeyProof, Poll, RegisterNode};
use cynode_wire::page::PageQuery;

use crate::actors::{HarnessNode, registration};
use crate::harness::{OrchestratorHarness, refused};

/// The registration of a stranger under this name, with a key of its own.
fn stranger(slug: &str) -> RegisterNode {
    let body = registration(slug, true);
    let key = NodeKey::generate().unwrap().0;
    RegisterNode { proof: key.prove(slug, body.incarnation.id), ..body }
}

fn empty_poll() -> Poll {
    Poll { holding: vec![], free_slots: 0, wait_ms: 0, load: None, settings: None }
}

async fn register_with(
    harness: &OrchestratorHarness,
    token: &str,
    body: &RegisterNode,
) -> Result<HarnessNode, cynode_client::ClientError> {
    let joined = harness.client(token.to_owned()).node_register(body).await?;
    let process = body.incarnation.id;
    let client = harness.client(joined.node_token).with_incarnation(process);
    Ok(HarnessNode { client, id: joined.node_id, process })
}

pub(crate) async fn a_join_token_does_not_take_over_the_name_of_a_node(
    harness: OrchestratorHarness,
) {
    let node = harness.node("anvil").await;
    node.client.node_stop().await.unwrap();
    let joining = harness.client(harness.secret("node-join.token"));

    let problem = refused(joining.node_register(&stranger("anvil")).await, 409);
    assert!(problem.detail.contains("another key"), "{problem:?}");
    let own = registration("anvil", true);
    let public_key = own.proof.public_key.clone();
    let signature = stranger("anvil").proof.signature;
    let forged = RegisterNode { proof: NodeKeyProof { public_key, signature }, ..own.clone() };
    refused(joining.node_register(&forged).await, 401);
    // The proof of another process of the node, as read from its registration.
    let incarnation = registration("anvil", true).incarnation;
    refused(joining.node_register(&RegisterNode { incarnation, ..own.clone() }).await, 401);

    node.restart().await;
    refused(joining.node_register(&stranger("anvil")).await, 409);
    assert_eq!(harness.admin().node_list().await.unwrap().len(), 1);
}

pub(crate) async fn a_one_time_token_registers_one_node_once(harness: OrchestratorHarness) {
    let root = harness.admin();
    let token = root.join_token_create(&CreateJoinToken::default()).await.unwrap().secret;

    let node = register_with(&harness, &token, &registration("anvil", true)).await.unwrap();

    refused(register_with(&harness, &token, &registration("other", true)).await, 401);
    node.client.node_stop().await.unwrap();
    let again = register_with(&harness, &token, &registration("anvil", true)).await.unwrap();
    assert_eq!(again.id, node.id, "its key is enough");

    let bound =
        CreateJoinToken { node_slug: Some("forge".to_owned()), expires_in_minutes: Some(5) };
    let bound = root.join_token_create(&bound).await.unwrap();
    refused(register_with(&harness, &bound.secret, &registration("other", true)).await, 401);
    harness.clock.advance(Duration::from_mins(5));
    refused(register_with(&harness, &bound.secret, &registration("forge", true)).await, 401);
    let revoked = root.join_token_create(&CreateJoinToken::default()).await.unwrap();
    root.join_token_revoke(revoked.token.id).await.unwrap();
    refused(register_with(&harness, &revoked.secret, &registration("other", true)).await, 401);
    refused(register_with(&harness, "cyn_jn_unknown", &registration("other", true)).await, 401);
    // Who has no token learns nothing about names.
    refused(register_with(&harness, "cyn_jn_unknown", &stranger("anvil")).await, 401);

    let listed = root.join_token_list(&PageQuery::default()).await.unwrap().items;
    let used: Vec<_> = listed.iter().map(|token| token.used_by).collect();
    assert_eq!(used, [None, None, Some(node.id)]);
    let ada = harness.user("ada").await;
    refused(ada.join_token_create(&CreateJoinToken::default()).await, 403);
    refused(ada.join_token_list(&PageQuery::default()).await, 403);
    refused(ada.join_token_revoke(revoked.token.id).await, 403);
    for odd in [0, 10_081] {
        let odd = CreateJoinToken { expires_in_minutes: Some(odd), node_slug: None };
        refused(root.join_token_create(&odd).await, 400);
    }
}

pub(crate) async fn of_two_nodes_with_one_token_one_registers(harness: OrchestratorHarness) {
    let token = harness.admin().join_token_create(&CreateJoinToken::default()).await.unwrap();
    let (first, second) = (registration("anvil", true), registration("forge", true));

    let (first, second) = tokio::join!(
        register_with(&harness, &token.secret, &first),
        register_with(&harness, &token.secret, &second)
    );

    assert!(first.is_ok() != second.is_ok());
    assert_eq!(harness.admin().node_list().await.unwrap().len(), 1);
}

pub(crate) async fn a_rotated_node_joins_again_with_its_own_token_only(
    harness: OrchestratorHarness,
) {
    let (root, node) = (harness.admin(), harness.node("anvil").await);
    let general = root.join_token_create(&CreateJoinToken::default()).await.unwrap();
    let bound = CreateJoinToken { node_slug: Some("anvil".to_owned()), expires_in_minutes: None };
    let earlier = root.join_token_create(&bound).await.unwrap();
    refused(harness.user("ada").await.node_rotate_key("anvil").await, 403);

    let token = root.node_rotate_key("anvil").await.unwrap();

    assert_eq!(token.token.node_slug.as_deref(), Some("anvil"));
    refused(node.client.node_poll(&empty_poll()).await, 401);
    let shared = harness.client(harness.secret("node-join.token"));
    refused(shared.node_register(&registration("anvil", true)).await, 401);
    refused(register_with(&harness, &general.secret, &stranger("anvil")).await, 401);
    refused(register_with(&harness, &earlier.secret, &stranger("anvil")).await, 401);
    let body = stranger("anvil");
    let renewed = register_with(&harness, &token.secret, &body).await.unwrap();
    assert_eq!(renewed.id, node.id);
    renewed.poll(&[]).await;
    refused(shared.node_register(&registration("anvil", true)).await, 409);
}

pub(crate) async fn a_removed_node_is_gone_and_its_name_is_free(harness: OrchestratorHarness) {
    let (root, runner) = (harness.admin(), harness.runner());
    let node = harness.node("anvil").await;
    node.poll(&[]).await;
    let task = harness.task().await;
    let lease = runner.claim(0).await.unwrap().lease;
    let job = runner.dispatch(lease, 0).await.unwrap();
    node.take().await;

    let problem = refused(root.node_remove("anvil").await, 409);
    assert!(problem.detail.contains("cynork nodes drain anvil"), "{problem:?}");
    node.end(job, 0).await.unwrap();
    refused(harness.user("ada").await.node_remove("anvil").await, 403);
    root.node_remove("anvil").await.unwrap();

    assert_eq!(root.node_list().await.unwrap(), []);
    refused(root.node_get("anvil").await, 404);
    refused(root.node_get(&node.id.to_string()).await, 404);
    refused(node.client.node_poll(&empty_poll()).await, 401);
    root.task_get(&task.id.to_string()).await.unwrap();
    let next = HarnessNode::join(&harness, &stranger("anvil")).await.unwrap();
    assert_ne!(next.id, node.id);
}

pub(crate) async fn a_node_of_an_older_version_gets_its_key_when_it_joins_again(
    harness: OrchestratorHarness,
) {
    let node = harness.node("anvil").await;
    query(&harness.database().url, "UPDATE nodes SET public_key = NULL;").await;
    node.poll(&[]).await;
    node.client.node_stop().await.unwrap();

    let again = HarnessNode::join(&harness, &registration("anvil", true)).await.unwrap();

    assert_eq!(again.id, node.id);
    again.client.node_stop().await.unwrap();
    let joining = harness.client(harness.secret("node-join.token"));
    refused(joining.node_register(&stranger("anvil")).await, 409);
}
