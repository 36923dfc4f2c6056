//! Tool calls through the gateway: listing, execution, rejection and audit records.

use std::fs;
use std::sync::Arc;

use cynode_domain::policy::{AgentType, CallStatus, Effect};
use cynode_orchestrator::OrchestratorServer;
use cynode_runtime::shutdown::Shutdown;
use cynode_runtime::tasks::BackgroundTasks;
use cynode_testkit::query;
use cynode_wire::agents::BindingView;
use cynode_wire::audit::{AuditQuery, CallView, VerifyQuery};
use serde_json::json;

use crate::audit_tampering::LOG_CHAIN;
use crate::harness::{HarnessResponse, OrchestratorHarness, eventually};
use crate::mcp::Mcp;

/// Every call on record, the newest first.
async fn records(harness: &OrchestratorHarness) -> Vec<CallView> {
    harness.admin().call_list(&AuditQuery::default()).await.unwrap().items
}

pub(crate) async fn tools_are_listed_called_refused_and_put_on_record(
    harness: OrchestratorHarness,
) {
    let (pm, pa) =
        (Mcp::agent(&harness, AgentType::Pm).await, Mcp::agent(&harness, AgentType::Pa).await);

    let made = pm.call("db.project.create", json!({ "display_name": "Moon" })).await;
    let seen = pa.call("db.project.get", json!({ "slug": "moon" })).await;
    let refused = pa.call("db.project.create", json!({ "display_name": "Mars" })).await;

    assert_eq!((&made["slug"], &made["id"]), (&json!("moon"), &seen["id"]));
    assert_eq!(refused["error"]["stage"], "allowlist");
    let shown = |names: Vec<String>| names.contains(&"db.project.create".to_owned());
    assert!(shown(pm.tools().await) && !shown(pa.tools().await));
    let rows = records(&harness).await;
    let found: Vec<_> =
        rows.iter().map(|row| (row.agent_type.as_str(), row.decision, row.status)).collect();
    let expected = [
        ("pa", Effect::Deny, CallStatus::Error),
        ("pa", Effect::Allow, CallStatus::Success),
        ("pm", Effect::Allow, CallStatus::Success),
    ];
    assert_eq!(found, expected);
    let one = harness.admin().call_get(rows[1].id).await.unwrap();
    assert_eq!(one, rows[1]);
    let denied = AuditQuery { decision: Some(Effect::Deny), ..AuditQuery::default() };
    let denied = harness.admin().call_list(&denied).await.unwrap().items;
    assert_eq!(denied, [rows[0].clone()]);
    assert!(harness.admin().audit_verify(&VerifyQuery::default()).await.unwrap().intact);
}

pub(crate) async fn an_edited_record_of_a_call_is_reported_by_the_verification(
    harness: OrchestratorHarness,
) {
    let pm = Mcp::agent(&harness, AgentType::Pm).await;
    pm.call("node.list", json!({})).await;
    pm.call("db.project.list", json!({})).await;
    let (admin, rows) = (harness.admin(), records(&harness).await);
    assert!(admin.audit_verify(&VerifyQuery::default()).await.unwrap().intact);

    let edit = format!(
        "UPDATE mcp_tool_call_audit_log SET tool_name = 'help.get' WHERE id = '{}';",
        rows[1].id
    );
    query(&harness.database().url, &edit).await;

    let verified = admin.audit_verify(&VerifyQuery::default()).await.unwrap();
    assert!(!verified.intact, "{verified:?}");
    let faults: Vec<_> = verified.chains.iter().flat_map(|chain| &chain.faults).collect();
    assert_eq!(faults, ["record 1 was edited: its hash does not fit"]);
}

pub(crate) async fn the_record_of_calls_goes_on_in_one_chain_after_a_restart(
    harness: OrchestratorHarness,
) {
    Mcp::agent(&harness, AgentType::Pm).await.call("node.list", json!({})).await;

    let harness = harness.restart_with(|_| {}).await;
    Mcp::agent(&harness, AgentType::Pm).await.call("node.list", json!({})).await;

    let verified = harness.admin().audit_verify(&VerifyQuery::default()).await.unwrap();
    assert!(verified.intact, "{verified:?}");
    // Two calls, with an outcome each.
    assert_eq!((verified.chains.len(), verified.records), (1, 4));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_orchestrators_on_one_database_decide_alike_and_write_a_chain_each() {
    let first = OrchestratorHarness::postgres().await;
    let data_dir = tempfile::tempdir().unwrap();
    // Orchestrators of one database share this key.
    fs::copy(first.data_dir().join("audit.key"), data_dir.path().join("audit.key")).unwrap();
    let second =
        OrchestratorServer::start(&first.options, data_dir.path(), Arc::new(first.clock.clone()));
    let second = second.await.unwrap();
    let url = format!("http://{}", second.address());
    let (shutdown, tasks) = (Shutdown::new(), BackgroundTasks::new());
    let stop = shutdown.clone();
    tasks.spawn("second", async move { second.serve(stop).await });
    let secret = crate::mcp::issue(&first, AgentType::Pm, BindingView::default()).await.secret;
    let (here, there) = (Mcp::at(&first.url(), &secret), Mcp::at(&url, &secret));

    let made = here.call("db.project.create", json!({ "display_name": "Moon" })).await;
    let seen = there.call("db.project.get", json!({ "slug": "moon" })).await;
    let refused = there.call("db.project.get", json!({ "slug": 7 })).await;

    assert_eq!(made["id"], seen["id"]);
    assert_eq!(refused["error"]["stage"], "arguments");
    assert_eq!(here.tools().await, there.tools().await);
    let rows = records(&first).await;
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0].chain_id, rows[1].chain_id);
    assert_ne!(rows[1].chain_id, rows[2].chain_id);
    let verified = first.admin().audit_verify(&VerifyQuery::default()).await.unwrap();
    assert!(verified.intact, "{verified:?}");
    let chains = verified.chains.iter().filter(|chain| chain.chain_id.to_string() != LOG_CHAIN);
    let mut records: Vec<_> = chains.map(|chain| chain.records).collect();
    records.sort_unstable();
    // A call with its outcome here; a call with its outcome and a refusal there.
    assert_eq!(records, [2, 3]);
    shutdown.trigger();
}

pub(crate) async fn rejected_requests_are_on_record_in_sum(harness: OrchestratorHarness) {
    let token = crate::mcp::issue(&harness, AgentType::Pm, BindingView::default()).await.secret;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {} });
    for _ in 0..5 {
        let request = harness.request(reqwest::Method::POST, "/mcp").bearer_auth(&token);
        let request = request.header("mcp-session-id", "of-somebody-else").json(&body);
        assert_eq!(request.send().await.unwrap().status(), 404);
    }

    harness.clock.advance(std::time::Duration::from_secs(11));

    let path = "/v1/audit/changes?resource_type=mcp.request";
    let rows = eventually("the record", async || {
        let listed = HarnessResponse::send(harness.as_admin(reqwest::Method::GET, path)).await.body;
        let rows = listed["items"].as_array().unwrap().clone();
        (!rows.is_empty()).then_some(rows)
    })
    .await;
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(
        (&rows[0]["action"], &rows[0]["resource"]),
        (&json!("gateway.reject"), &json!("wrong_session"))
    );
    let reason = rows[0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("5 rejected from ") && reason.contains("agent 5"), "{reason}");
}
