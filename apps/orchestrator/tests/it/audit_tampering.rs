//! Changes of the audit log behind the orchestrator's back are reported, and records reach other systems.

use std::collections::BTreeSet;
use std::time::Duration;

use cynode_domain::policy::AgentType;
use cynode_testkit::query;
use cynode_wire::audit::{VerifyQuery, VerifyView};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, UnixDatagram};

use crate::harness::{OrchestratorHarness, eventually};
use crate::mcp::Mcp;

const CALLS: &str = "mcp_tool_call_audit_log";
const OUTCOMES: &str = "mcp_tool_call_outcomes";
pub(crate) const LOG_CHAIN: &str = "00000000-0000-0000-0000-000000000001";
/// A row of each log, and what to change in it.
const LOGS: [(&str, &str, &str, &str); 6] = [
    ("auth_audit_log", "event_type, success, created_at", "'login', TRUE, NOW", "success = FALSE"),
    (
        "access_control_audit_log",
        "subject_type, action, resource_type, resource, decision, created_at",
        "'user', 'rule.create', 'rule', 'r', 'allow', NOW",
        "resource = 'other'",
    ),
    (
        "system_settings_audit_log",
        "key, new_value, changed_at",
        "'a', '{\"deep\": [1]}', NOW",
        "new_value = '{\"deep\": [2]}'",
    ),
    (
        "preference_audit_log",
        "entry_id, scope_type, key, changed_at",
        "ID, 'system', 'k', NOW",
        "reason = 'because'",
    ),
    (
        "chat_audit_log",
        "created_at, user_id, model, outcome, redaction_applied, redaction_kinds, duration_ms, request_id",
        "NOW, ID, 'm', 'error', FALSE, '[]', 5, 'r'",
        "duration_ms = 6",
    ),
    (
        "egress_audit",
        "created_at, call_id, user_id, resource, decision, reason, trace_id",
        "NOW, ID, ID, 'm', 'deny', 'no rule', 't'",
        "decision = 'allow'",
    ),
];
const ID: &str = "'00000000-0000-0000-0000-0000000000aa'";

/// Six records of tool calls.
async fn make_calls(harness: &OrchestratorHarness) {
    let pm = Mcp::agent(harness, AgentType::Pm).await;
    for _ in 0..3 {
        let listed = pm.answer("node.list", json!({})).await;
        assert!(listed["result"]["structuredContent"]["items"].is_array(), "{listed}");
    }
}

async fn verify(harness: &OrchestratorHarness) -> VerifyView {
    harness.admin().audit_verify(&VerifyQuery::default()).await.unwrap()
}

async fn faults(harness: &OrchestratorHarness) -> Vec<String> {
    verify(harness).await.chains.into_iter().flat_map(|chain| chain.faults).collect()
}

/// Restores the state of the tool calls' chain before its last two records, with the signature that it had then.
pub(crate) async fn a_cut_tail_with_an_earlier_signed_head_is_reported(
    harness: OrchestratorHarness,
) {
    let url = harness.database().url.clone();
    make_calls(&harness).await;
    query(
        &url,
        "CREATE TABLE backup AS SELECT * FROM mcp_audit_chains
         WHERE chain_id <> '00000000-0000-0000-0000-000000000001'",
    )
    .await;
    make_calls(&harness).await;
    assert_eq!(faults(&harness).await, Vec::<String>::new());
    let rewind = format!(
        "UPDATE mcp_audit_chains SET seq = (SELECT seq FROM backup), hash = (SELECT hash FROM backup),
         signature = (SELECT signature FROM backup)
         WHERE chain_id <> '00000000-0000-0000-0000-000000000001';
         DELETE FROM {CALLS} WHERE seq > 6; DELETE FROM {OUTCOMES} WHERE seq > 6"
    );

    query(&url, &rewind).await;

    // The running writer knows better.
    let expected = "records 7 to 12 are missing: the running writer has seen them";
    assert_eq!(faults(&harness).await, [expected]);
    // So does the next process, which starts another chain.
    let harness = harness.restart_with(|_| {}).await;
    make_calls(&harness).await;
    let expected = "records 7 to 12 are missing: the file audit-heads.json has seen them";
    assert_eq!(faults(&harness).await, [expected]);
}

pub(crate) async fn a_dropped_chain_is_reported(harness: OrchestratorHarness) {
    harness.add_user("early").await;
    make_calls(&harness).await;
    let harness = harness.restart_with(|_| {}).await;
    assert_eq!(faults(&harness).await, Vec::<String>::new());
    let drop_all =
        format!("DELETE FROM {CALLS}; DELETE FROM {OUTCOMES}; DELETE FROM mcp_audit_chains");
    query(&harness.database().url, &drop_all).await;

    let reported = faults(&harness).await;

    let is_found = |text: &str| reported.iter().any(|fault| fault.contains(text));
    assert!(is_found("the chain and its 6 records are missing"), "{reported:?}");
    // That of the logs too.
    assert!(reported.len() >= 2, "{reported:?}");
}

pub(crate) async fn records_behind_a_forged_anchor_are_reported(harness: OrchestratorHarness) {
    make_calls(&harness).await;
    let head = harness.admin().audit_head().await.unwrap().head;
    let url = &harness.database().url;
    // The hash of the newest record stays the same. The signature is a valid one, but of a head.
    let forge = format!(
        "INSERT INTO mcp_audit_anchors (chain_id, seq, hash, signature, created_at)
         SELECT chain_id, seq, hash, signature, created_at FROM mcp_audit_chains WHERE seq = 6;
         DELETE FROM {CALLS}; DELETE FROM {OUTCOMES}"
    );

    query(url, &forge).await;

    assert_eq!(harness.admin().audit_head().await.unwrap().head, head);
    let reported = faults(&harness).await;
    assert_eq!(reported.len(), 1, "{reported:?}");
    assert!(reported[0].starts_with("records 1 to 6 are missing: no trusted key signed"));
}

pub(crate) async fn every_log_is_chained(harness: OrchestratorHarness) {
    let url = harness.database().url.clone();
    let now = if url.starts_with("sqlite:") { "1700000000000000" } else { "now()" };
    for (table, columns, values, _) in LOGS {
        let values = values.replace("NOW", now).replace("ID", ID);
        query(&url, &format!("INSERT INTO {table} (id, {columns}) VALUES ({ID}, {values})")).await;
    }
    let before = verify(&harness).await;
    assert!(before.intact, "{before:?}");

    for (number, (table, _, _, edit)) in LOGS.into_iter().enumerate() {
        query(&url, &format!("UPDATE {table} SET {edit} WHERE id = {ID}")).await;

        let reported = faults(&harness).await;
        assert_eq!(reported.len(), number + 1, "{table}: {reported:?}");
        assert!(reported.iter().all(|fault| fault.contains("was edited")), "{reported:?}");
    }
    for (number, (table, ..)) in LOGS.into_iter().enumerate() {
        query(&url, &format!("DELETE FROM {table} WHERE id = {ID}")).await;

        let reported = faults(&harness).await;
        let missing = reported.iter().filter(|fault| fault.contains("missing")).count();
        assert!(missing > 0 && reported.len() <= LOGS.len() + 1, "{number} {table}: {reported:?}");
    }
}

/// A chain that was rebuilt without the key is not extended: its new head would be signed.
pub(crate) async fn a_rebuilt_chain_of_logs_is_not_extended(harness: OrchestratorHarness) {
    let url = harness.database().url.clone();
    harness.add_user("early").await;
    assert_eq!(faults(&harness).await, Vec::<String>::new());
    let rewind = "UPDATE mcp_audit_chains SET seq = seq - 1
                  WHERE chain_id = '00000000-0000-0000-0000-000000000001'";
    query(&url, rewind).await;
    harness.add_user("late").await;

    let reported = faults(&harness).await;

    let is_found = |text: &str| reported.iter().any(|fault| fault.contains(text));
    assert!(is_found("newer records are not sealed"), "{reported:?}");
    assert!(is_found("were inserted"), "{reported:?}");
}

pub(crate) async fn a_head_kept_elsewhere_proves_what_came_before(harness: OrchestratorHarness) {
    make_calls(&harness).await;
    let admin = harness.admin();
    let kept = admin.audit_head().await.unwrap().head;
    make_calls(&harness).await;
    let since = |head: &str| VerifyQuery { since: Some(head.to_owned()) };

    let verified = admin.audit_verify(&since(&kept)).await.unwrap();
    assert!(verified.intact, "{verified:?}");
    let rejected = admin.audit_verify(&since("nonsense")).await.unwrap_err().to_string();
    assert!(rejected.contains("CHAIN:SEQ:HASH"), "{rejected}");

    // A head of another history.
    let (position, hash) = kept.rsplit_once(':').unwrap();
    let other = format!("{position}:{}", "0".repeat(hash.len()));
    let verified = admin.audit_verify(&since(&other)).await.unwrap();
    assert!(!verified.intact);
    let text = format!("{verified:?}");
    assert!(text.contains("was replaced: the given head has seen another one"), "{text}");
    // Records before the head are verified too.
    query(&harness.database().url, &format!("UPDATE {CALLS} SET tool_name = 'x' WHERE seq = 1"))
        .await;
    let verified = admin.audit_verify(&since(&kept)).await.unwrap();
    assert!(!verified.intact);
}

/// Positions that no page of a verification may skip.
pub(crate) async fn records_at_impossible_and_taken_positions_are_reported(
    harness: OrchestratorHarness,
) {
    let url = harness.database().url.clone();
    make_calls(&harness).await;
    let insert = |seq: i64, id: u8| {
        format!(
            "INSERT INTO {OUTCOMES} SELECT '00000000-0000-0000-0000-0000000000{id:02}', chain_id, {seq},
             status, error_type, duration_ms, recorded_at, prev_hash, hash FROM {OUTCOMES} WHERE seq = 2"
        )
    };
    for (number, seq) in [i64::MIN, 0, 5].into_iter().enumerate() {
        query(&url, &insert(seq, u8::try_from(number).unwrap() + 10)).await;

        let reported = faults(&harness).await;
        let inserted = reported.iter().filter(|fault| fault.contains("was inserted")).count();
        assert_eq!(inserted, number + 1, "{reported:?}");
    }
}

/// Rows that cannot be decoded are sealed or reported, and keep no other row from being sealed.
pub(crate) async fn unreadable_rows_of_logs_do_not_stop_the_sealing(harness: OrchestratorHarness) {
    let url = harness.database().url.clone();
    let is_sqlite = url.starts_with("sqlite:");
    let time = if is_sqlite { "'x'" } else { "'infinity'" };
    for number in 0..3 {
        let id = format!("00000000-0000-0000-0000-0000000000{number:02}");
        let row = format!(
            "INSERT INTO auth_audit_log (id, event_type, success, created_at)
             VALUES ('{id}', 'x', TRUE, {time})"
        );
        query(&url, &row).await;
    }
    if is_sqlite {
        let row = "INSERT INTO auth_audit_log (id, event_type, success, created_at)
                   VALUES ('AAAAAAAA-0000-0000-0000-000000000000', 'x', TRUE, 1)";
        query(&url, row).await;
    }
    harness.add_user("later").await;

    assert_eq!(faults(&harness).await, Vec::<String>::new());
    let left = query(&url, "SELECT count(*) FROM auth_audit_log WHERE seq IS NULL").await;
    assert_eq!(left, [["0"]]);
    query(&url, "UPDATE auth_audit_log SET hash = NULL WHERE seq = 2").await;
    let reported = faults(&harness).await;
    assert!(reported.iter().any(|fault| fault.contains("record 2 was edited")), "{reported:?}");
}

pub(crate) async fn every_record_reaches_the_configured_targets(harness: OrchestratorHarness) {
    let folder = tempfile::tempdir().unwrap();
    let (file, socket) = (folder.path().join("audit.jsonl"), folder.path().join("log"));
    let syslog = UnixDatagram::bind(&socket).unwrap();
    let collector = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let targets = vec![
        format!("file:{}", file.display()),
        format!("syslog:{}", socket.display()),
        format!("otlp:http://{}", collector.local_addr().unwrap()),
    ];
    harness.add_user("early").await;
    make_calls(&harness).await;

    let harness = harness.restart_with(|options| options.audit_stream = targets).await;
    make_calls(&harness).await;

    let posted = accept_otlp(&collector).await;
    let log = &posted["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
    let body: Value = serde_json::from_str(log["body"]["stringValue"].as_str().unwrap()).unwrap();
    assert_eq!((&body["type"], &body["seq"]), (&json!("tool_call"), &json!(1)));
    let mut datagram = vec![0; 64 * 1024];
    let received = tokio::time::timeout(Duration::from_secs(30), syslog.recv(&mut datagram)).await;
    let message = String::from_utf8_lossy(&datagram[..received.unwrap().unwrap()]).into_owned();
    assert!(message.starts_with("<110>1 ") && message.contains(" audit - {"), "{message}");
    let records = eventually("all records are in the file", async || {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        // The last line may be written at this moment.
        let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
        let lines: Vec<Value> =
            complete.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let calls = lines.iter().filter(|line| line["type"] == "tool_call").count();
        let logins = lines.iter().any(|line| line["type"] == "auth_audit_log");
        (calls == 6 && logins).then_some(lines)
    })
    .await;
    let positions: BTreeSet<_> =
        records.iter().map(|line| (line["chain_id"].to_string(), line["seq"].as_i64())).collect();
    assert_eq!(positions.len(), records.len(), "no record was sent twice");

    // The next process continues where this one ended.
    let harness = harness.restart_with(|options| {
        options.audit_stream = vec![format!("file:{}", file.display())];
    });
    let harness = harness.await;
    make_calls(&harness).await;
    eventually("the file has the new records", async || {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let calls = text.lines().filter(|line| line.contains("\"type\":\"tool_call\"")).count();
        assert!(calls <= 9, "sent again");
        (calls == 9).then_some(())
    })
    .await;
}

/// Accepts one request, and returns its body.
async fn accept_otlp(collector: &TcpListener) -> Value {
    let (mut stream, _) =
        tokio::time::timeout(Duration::from_secs(30), collector.accept()).await.unwrap().unwrap();
    let mut received = vec![];
    loop {
        let mut part = vec![0; 64 * 1024];
        let length = stream.read(&mut part).await.unwrap();
        received.extend_from_slice(&part[..length]);
        let text = String::from_utf8_lossy(&received);
        if let Some((head, body)) = text.split_once("\r\n\r\n")
            && let Ok(json) = serde_json::from_str(body)
        {
            assert!(head.starts_with("POST /v1/logs "), "{head}");
            return json;
        }
    }
}
