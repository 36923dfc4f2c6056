//! Capability leases, with a node that a test plays: what it reports is believed only about its own leases.

use chrono::{SubsecRound as _, TimeDelta};
use cynode_audit::{AuditCall, AuditCaller, AuditRecord, CallRecord, ChainHead};
use cynode_domain::agent::TokenBinding;
use cynode_domain::ids::{CallId, ChainId, IncarnationId, TokenId, UserId};
use cynode_domain::policy::{AgentType, CallStatus, Effect, Stage};
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::audit::{AuditQuery, VerifyQuery};
use cynode_wire::capability_leases::{
    CapabilityLeaseView, EDGE_FEATURE, EdgeRecord, EdgeView, SyncEdge,
};
use cynode_wire::page::PageQuery;
use serde_json::{Value, json};

use crate::actors::{HarnessNode, registration};
use crate::harness::{OrchestratorHarness, refused};
use crate::mcp::Mcp;

async fn edge_node(harness: &OrchestratorHarness, slug: &str) -> HarnessNode {
    let mut body = registration(slug, true);
    body.capabilities.sandbox.features.push(EDGE_FEATURE.to_owned());
    HarnessNode::join(harness, &body).await.unwrap()
}

/// A lease for a new sandbox on the node.
async fn lease(harness: &OrchestratorHarness, node: &HarnessNode) -> CapabilityLeaseView {
    let (manager, task) = (Mcp::agent(harness, AgentType::Pm).await, harness.task().await.id);
    let open = manager.call("sandbox.create", json!({ "task_id": task }));
    let work = async {
        let given = node.poll_for(&[], 30_000).await.assignments.remove(0);
        node.poll(&[given.job_id]).await;
        node.end(given.job_id, 0).await.unwrap();
    };
    let (opened, ()) = tokio::join!(open, work);
    let ids = json!({ "task_id": task, "job_id": opened["job_id"] });
    let made: Value = manager.call("node.lease.create", ids).await;
    serde_json::from_value(made).unwrap()
}

/// A call under a lease, as its node records it.
async fn call(harness: &OrchestratorHarness, lease: &CapabilityLeaseView) -> AuditCall {
    let task = harness.admin().task_get(&lease.task_id.to_string()).await.unwrap();
    AuditCall {
        id: CallId::generate(),
        created_at: lease.issued_at.trunc_subsecs(6),
        caller: AuditCaller {
            kind: "pm".to_owned(),
            token: Some(TokenId::from_uuid(lease.id.as_uuid())),
            user: Some(lease.user_id),
            groups: vec![],
            roles: vec!["user".to_owned()],
        },
        binding: TokenBinding {
            project: Some(task.project_id),
            task: Some(lease.task_id),
            job: Some(lease.job_id),
            ..TokenBinding::default()
        },
        tool: "sandbox.exec".to_owned(),
        server: "builtin".to_owned(),
        decision: Effect::Allow,
        stage: Stage::Invoke,
        status: CallStatus::Pending,
        error_type: None,
        duration_ms: None,
        origin: format!("node:{}", lease.node_slug),
        request_id: "r".to_owned(),
    }
}

/// A report of one call.
fn report(head: &ChainHead, call: &AuditCall) -> SyncEdge {
    let record = CallRecord::Call(Box::new(call.clone()));
    let seal = head.clone().seal(&AuditRecord::from(record.clone()));
    let record = serde_json::to_value(record).unwrap();
    let record = EdgeRecord { seq: seal.seq, hash: hex::encode(seal.hash), record };
    SyncEdge { chain: head.chain, records: vec![record] }
}

async fn sync(node: &HarnessNode, report: &SyncEdge) -> EdgeView {
    node.client.node_sync_edge(report).await.unwrap()
}

pub(crate) async fn records_about_callers_of_others_are_refused(harness: OrchestratorHarness) {
    let (node, other) = (edge_node(&harness, "anvil").await, edge_node(&harness, "bellows").await);
    other.poll(&[]).await;
    let lease = lease(&harness, &node).await;
    let (node, other) = if lease.node_slug == "anvil" { (node, other) } else { (other, node) };
    let (right, head) = (call(&harness, &lease).await, ChainHead::new(ChainId::generate()));
    let with = |change: &dyn Fn(&mut AuditCall)| {
        let mut changed = right.clone();
        change(&mut changed);
        report(&head, &changed)
    };

    let wrong = [
        with(&|call| call.caller.user = Some(UserId::generate())),
        with(&|call| "user".clone_into(&mut call.caller.kind)),
        with(&|call| call.caller.roles.push("admin".to_owned())),
        with(&|call| call.caller.token = Some(TokenId::generate())),
        with(&|call| call.caller.token = None),
        with(&|call| call.binding.task = None),
        with(&|call| "gateway".clone_into(&mut call.origin)),
        with(&|call| "db.task.list".clone_into(&mut call.tool)),
        with(&|call| "other".clone_into(&mut call.server)),
        with(&|call| call.request_id = "x".repeat(300)),
        with(&|call| "a\0b".clone_into(&mut call.request_id)),
        with(&|call| call.created_at += TimeDelta::hours(1)),
        with(&|call| call.created_at -= TimeDelta::hours(1)),
        with(&|call| "node:another".clone_into(&mut call.origin)),
    ];
    for report in &wrong {
        let view = sync(&node, report).await;
        assert!(view.refused.is_some() && view.keys.len() == 1, "{view:?}");
    }
    // A lease of another node, and a chain of another node.
    let name = if lease.node_slug == "anvil" { "bellows" } else { "anvil" };
    let foreign = with(&|call| call.origin = format!("node:{name}"));
    assert!(sync(&other, &foreign).await.refused.is_some());
    assert_eq!(sync(&node, &report(&head, &right)).await.stored_seq, 1);
    let empty = SyncEdge { chain: head.chain, records: vec![] };
    assert!(sync(&other, &empty).await.refused.is_some());

    assert_eq!(sync(&node, &report(&head, &right)).await.stored_seq, 1);
    let query = AuditQuery { task_id: Some(lease.task_id), ..AuditQuery::default() };
    let calls = harness.admin().call_list(&query).await.unwrap().items;
    let of_node = calls.iter().filter(|call| call.origin.starts_with("node:"));
    let of_node: Vec<_> = of_node.collect();
    assert_eq!(of_node.len(), 1);
    assert_eq!((of_node[0].id, of_node[0].created_at), (right.id, right.created_at));
    assert!(harness.admin().audit_verify(&VerifyQuery::default()).await.unwrap().intact);
}

pub(crate) async fn a_lease_ends_with_what_it_was_issued_for(harness: OrchestratorHarness) {
    let node = edge_node(&harness, "anvil").await;
    let empty = SyncEdge { chain: ChainId::generate(), records: vec![] };
    let reason = async |id| {
        let all = harness.admin().capability_lease_list(&PageQuery::default()).await.unwrap();
        let found = all.items.into_iter().find(|lease| lease.id == id);
        found.unwrap().revoked_reason.unwrap_or_default()
    };

    let (closed, kept) = (lease(&harness, &node).await, lease(&harness, &node).await);
    assert_eq!(sync(&node, &empty).await.revoked, []);
    harness.admin().task_cancel(&closed.task_id.to_string()).await.unwrap();
    let view = sync(&node, &empty).await;
    assert_eq!(view.revoked.iter().map(|lease| lease.id).collect::<Vec<_>>(), [closed.id]);
    assert_eq!(reason(closed.id).await, "its task is closed");
    let tokens = harness.admin().agent_token_list(&PageQuery::default()).await.unwrap();
    for token in tokens.items {
        harness.admin().agent_token_revoke(token.id).await.unwrap();
    }
    assert_eq!(sync(&node, &empty).await.revoked.len(), 2);
    assert_eq!(reason(kept.id).await, "the token that asked for it was revoked");
}

pub(crate) async fn leases_are_private_and_their_key_is_the_administrators(
    harness: OrchestratorHarness,
) {
    let node = edge_node(&harness, "anvil").await;
    let lease = lease(&harness, &node).await;
    let ada = harness.user("ada").await;

    let page = PageQuery::default();
    let all = harness.admin().capability_lease_list(&page).await.unwrap().items;
    assert_eq!(all, std::slice::from_ref(&lease));
    assert!(ada.capability_lease_list(&page).await.unwrap().items.is_empty());
    refused(ada.capability_lease_revoke(lease.id).await, 404);
    refused(ada.lease_key_rotate().await, 403);
    let empty = SyncEdge { chain: ChainId::generate(), records: vec![] };
    // With the token of a person, also as a process of a node.
    let process = IncarnationId::generate();
    refused(ada.clone().with_incarnation(process).node_sync_edge(&empty).await, 401);
    let before = sync(&node, &empty).await.keys;
    let new = harness.admin().lease_key_rotate().await.unwrap();
    let after = sync(&node, &empty).await.keys;
    assert_eq!(after.len(), before.len() + 1);
    assert!(after.contains(&new.public_key) && after.contains(&before[0]));
    // An agent of another user gets none for this sandbox.
    let binding = BindingView::default();
    let body = IssueAgentToken {
        agent_type: AgentType::Pm,
        name: "ada's".to_owned(),
        user_id: None,
        expires_in_seconds: None,
        binding,
    };
    let of_ada = ada.agent_token_issue(&body).await.unwrap();
    let manager = Mcp::at(&harness.url(), &of_ada.secret);
    let ids = json!({ "task_id": lease.task_id, "job_id": lease.job_id });
    let answer = manager.answer("node.lease.create", ids).await;
    assert!(answer.to_string().contains("not found"), "{answer:#}");
}
