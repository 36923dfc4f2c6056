//! The MCP server of a node, with tools that check that their call is recorded.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{DateTime, TimeDelta, Utc};
use cynode_audit::CallRecord;
use cynode_domain::ids::{CapabilityLeaseId, JobId, ProjectId, TaskId, UserId};
use cynode_domain::job::Limits;
use cynode_domain::policy::Principal;
use cynode_lease::LeaseKey;
use cynode_runtime::clock::{Clock as _, SystemClock};
use cynode_wire::capability_leases::{EdgeView, RevokedLease};
use futures_util::future::join_all;
use tempfile::TempDir;

use super::*;

/// Checks that the decision is recorded before the tool runs.
struct CheckedTools {
    log: EdgeAuditLog,
    executed: AtomicUsize,
}

#[async_trait]
impl EdgeTools for CheckedTools {
    async fn execute(&self, claims: &LeaseClaims, call: EdgeCall) -> Result<Value, ToolFailure> {
        let records = self.log.next_report(100).unwrap().records;
        let last: CallRecord =
            serde_json::from_value(records.last().unwrap().record.clone()).unwrap();
        let CallRecord::Call(recorded) = last else { panic!("{last:?}") };
        assert_eq!((recorded.decision, recorded.binding.task), (Effect::Allow, Some(claims.task)));
        self.executed.fetch_add(1, Ordering::Relaxed);
        match call {
            EdgeCall::Exec(call) if call.command == "panic" => panic!("as asked"),
            EdgeCall::Exec(call) if call.command == "fail" => {
                Err(ToolFailure::new(ErrorKind::Conflict, "no workspace"))
            }
            EdgeCall::Exec(_)
            | EdgeCall::GetFile(_)
            | EdgeCall::PutFile(_)
            | EdgeCall::StreamLogs(_) => Ok(json!({ "exit_code": 0 })),
        }
    }
}

struct EdgeHarness {
    server: EdgeServer,
    tools: Arc<CheckedTools>,
    trust: Arc<EdgeTrust>,
    log: EdgeAuditLog,
    key: LeaseKey,
    claims: LeaseClaims,
    directory: TempDir,
}

fn now() -> DateTime<Utc> {
    SystemClock.now()
}

fn view(key: &LeaseKey) -> EdgeView {
    EdgeView {
        stored_seq: 0,
        refused: None,
        keys: vec![key.public_key().to_string()],
        revoked: vec![],
    }
}

impl EdgeHarness {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let key = LeaseKey::from_seed(&[7; 32]).unwrap();
        let log = EdgeAuditLog::open(directory.path(), "this node", now()).unwrap();
        let path = directory.path().join("trust.json");
        let trust = Arc::new(EdgeTrust::open(&path, "this node".to_owned()));
        trust.update(&view(&key), now()).unwrap();
        let tools = Arc::new(CheckedTools { log: log.clone(), executed: AtomicUsize::new(0) });
        let server = EdgeServer::new(
            "n".to_owned(),
            Arc::clone(&trust),
            log.clone(),
            Arc::clone(&tools) as Arc<dyn EdgeTools>,
            Arc::new(SystemClock),
        );
        let claims = LeaseClaims {
            id: CapabilityLeaseId::generate(),
            node_key: "this node".to_owned(),
            caller: Principal::PM,
            user: UserId::generate(),
            groups: vec![],
            roles: vec!["user".to_owned()],
            project: ProjectId::generate(),
            task: TaskId::generate(),
            sandbox: JobId::generate(),
            tools: BTreeSet::from(["sandbox.exec".to_owned()]),
            limits: Limits::default(),
            image: None,
            has_repository: false,
            issued_at: now(),
            expires_at: now() + TimeDelta::minutes(5),
            holder: None,
        };
        Self { server: server.unwrap(), tools, trust, log, key, claims, directory }
    }

    fn arguments(&self, command: &str) -> Value {
        json!({ "task_id": self.claims.task, "job_id": self.claims.sandbox, "command": command })
    }

    async fn send(&self, lease: Option<&str>, method: &str, params: &Value) -> (u16, Value) {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let response = self.server.handle(lease, body.to_string().as_bytes()).await;
        let body = response.body.map(|body| serde_json::from_str(&body).unwrap());
        (response.status, body.unwrap_or_default())
    }

    async fn call(&self, tool: &str, arguments: &Value) -> Value {
        let lease = self.key.sign(&self.claims).unwrap();
        let params = json!({ "name": tool, "arguments": arguments });
        let (status, answer) = self.send(Some(&lease), "tools/call", &params).await;
        assert_eq!(status, 200, "{answer}");
        answer
    }

    fn records(&self) -> Vec<CallRecord> {
        let records = self.log.next_report(1_000).unwrap().records;
        records.into_iter().map(|record| serde_json::from_value(record.record).unwrap()).collect()
    }

    /// The stages of the recorded denials.
    fn denied_stages(&self) -> Vec<Stage> {
        let denied = self.records().into_iter().filter_map(|record| match record {
            CallRecord::Call(call) => (call.decision == Effect::Deny).then_some(call.stage),
            CallRecord::Outcome(_) => None,
        });
        denied.collect()
    }

    fn executed(&self) -> usize {
        self.tools.executed.load(Ordering::Relaxed)
    }
}

#[tokio::test]
async fn a_call_is_recorded_with_its_caller_before_and_after() {
    let world = EdgeHarness::new();

    let answer = world.call("sandbox.exec", &world.arguments("true")).await;

    assert_eq!(answer["result"]["structuredContent"], json!({ "exit_code": 0 }));
    let records = world.records();
    let [CallRecord::Call(call), CallRecord::Outcome(outcome)] = records.as_slice() else {
        panic!("{records:?}");
    };
    assert_eq!((call.tool.as_str(), call.origin.as_str()), ("sandbox.exec", "node:n"));
    assert_eq!((call.caller.kind.as_str(), call.caller.user), ("pm", Some(world.claims.user)));
    assert_eq!(call.caller.token.unwrap().as_uuid(), world.claims.id.as_uuid());
    assert_eq!((outcome.call, outcome.status), (call.id, CallStatus::Success));
    assert!(outcome.duration_ms.is_some());
}

#[tokio::test]
async fn a_tool_that_fails_or_panics_has_an_outcome() {
    let world = EdgeHarness::new();

    for (command, kind) in [("fail", "conflict"), ("panic", "internal_error")] {
        let answer = world.call("sandbox.exec", &world.arguments(command)).await;
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        assert_eq!(answer["result"]["structuredContent"]["error"]["type"], kind);
        let CallRecord::Outcome(outcome) = world.records().pop().unwrap() else { panic!() };
        assert_eq!(outcome.error_type.as_deref(), Some(kind));
    }
}

#[tokio::test]
async fn what_the_lease_does_not_permit_is_denied_on_record() {
    let world = EdgeHarness::new();
    let with = |name: &str, value: Value| {
        let mut arguments = world.arguments("true");
        arguments[name] = value;
        arguments
    };

    for (tool, arguments, stage) in [
        ("db.task.delete", world.arguments("true"), Stage::Known),
        ("sandbox.get_file", world.arguments("true"), Stage::Rules),
        ("sandbox.exec", with("unknown", json!(1)), Stage::Arguments),
        ("sandbox.exec", with("command", json!(7)), Stage::Arguments),
        ("sandbox.exec", with("command", json!("x".repeat(600_000))), Stage::Arguments),
        ("sandbox.exec", with("task_id", json!(TaskId::generate())), Stage::Context),
        ("sandbox.exec", with("job_id", json!(JobId::generate())), Stage::Context),
    ] {
        let answer = world.call(tool, &arguments).await;
        let is_refused = answer["result"]["isError"] == true || answer.get("error").is_some();
        assert!(is_refused, "{tool}: {answer}");
        assert_eq!(world.denied_stages().last(), Some(&stage), "{tool}: {answer}");
    }
    assert_eq!(world.executed(), 0);
}

#[tokio::test]
async fn leases_of_others_and_ended_ones_are_refused_on_record() {
    let world = EdgeHarness::new();
    let foreign_key = LeaseKey::from_seed(&[8; 32]).unwrap();
    let sign = |claims: LeaseClaims| world.key.sign(&claims).unwrap();
    let claims = || world.claims.clone();
    let revoked = LeaseClaims { id: CapabilityLeaseId::generate(), ..claims() };
    let revocation = RevokedLease { id: revoked.id, expires_at: revoked.expires_at };
    world.trust.update(&EdgeView { revoked: vec![revocation], ..view(&world.key) }, now()).unwrap();
    let expired = LeaseClaims {
        issued_at: now() - TimeDelta::minutes(6),
        expires_at: now() - TimeDelta::minutes(1),
        ..claims()
    };
    let leases = [
        None,
        Some("nonsense".to_owned()),
        Some(foreign_key.sign(&claims()).unwrap()),
        Some(sign(LeaseClaims { node_key: "another node".to_owned(), ..claims() })),
        Some(sign(expired)),
        Some(sign(revoked.clone())),
    ];

    for (index, lease) in leases.iter().enumerate() {
        let params = json!({ "name": "sandbox.exec", "arguments": world.arguments("true") });
        let (status, answer) = world.send(lease.as_deref(), "tools/call", &params).await;
        assert_eq!(status, UNAUTHORIZED, "{answer}");
        assert_eq!(world.denied_stages(), vec![Stage::Authenticate; index + 1]);
        let CallRecord::Call(call) = world.records().pop().unwrap() else { panic!() };
        assert_eq!((call.caller.kind.as_str(), call.caller.user), ("unknown", None));
    }
    assert_eq!(world.executed(), 0);

    // A node that starts again without the orchestrator remembers both.
    let path = world.directory.path().join("trust.json");
    let trust = EdgeTrust::open(&path, "this node".to_owned());
    assert!(trust.verify(&sign(claims()), now()).is_ok());
    assert!(trust.verify(&sign(revoked), now()).is_err());
    std::fs::write(&path, "damaged").unwrap();
    assert!(EdgeTrust::open(&path, "this node".to_owned()).verify(&sign(claims()), now()).is_err());
}

#[tokio::test]
async fn a_flood_of_bad_leases_does_not_fill_the_log() {
    let world = EdgeHarness::new();
    let params = json!({ "name": "sandbox.exec" });

    // All at once: they are counted before the first is recorded.
    let sent = (0..200).map(|_| world.send(Some("bad"), "tools/call", &params));
    let answers = join_all(sent).await;
    let refused = answers.iter().filter(|(status, _)| *status == TOO_MANY_REQUESTS).count();

    assert!(refused > 0);
    assert_eq!(world.records().len(), 200 - refused);
    // A caller with a lease is not affected.
    world.call("sandbox.exec", &world.arguments("true")).await;
    assert_eq!(world.executed(), 1);
}

#[tokio::test]
async fn one_lease_cannot_make_any_number_of_calls() {
    let world = EdgeHarness::new();
    let lease = world.key.sign(&world.claims).unwrap();
    let params = json!({ "name": "db.task.delete" });

    let sent = (0..300).map(|_| world.send(Some(&lease), "tools/call", &params));
    let answers = join_all(sent).await;
    let refused = answers.iter().filter(|(status, _)| *status == TOO_MANY_REQUESTS).count();

    assert!(refused > 0);
    assert_eq!(world.records().len(), 300 - refused);
}

#[tokio::test]
async fn a_client_finds_the_tools_of_its_lease() {
    let world = EdgeHarness::new();
    let lease = world.key.sign(&world.claims).unwrap();
    let send = async |method: &str, params: Value| {
        world.send(Some(&lease), method, &params).await.1["result"].clone()
    };

    let opened = send("initialize", json!({ "protocolVersion": "2025-06-18" })).await;
    assert_eq!(opened["protocolVersion"], "2025-06-18");
    let listed = send("tools/list", json!({})).await;
    assert_eq!(listed["tools"].as_array().unwrap().len(), 1);
    assert_eq!(listed["tools"][0]["name"], "sandbox.exec");
    assert_eq!(listed["tools"][0]["inputSchema"]["required"][0], "task_id");
    assert_eq!(send("ping", json!({})).await, json!({}));
    let (_, unknown) = world.send(Some(&lease), "resources/list", &json!({})).await;
    assert_eq!(unknown["error"]["code"], rpc::METHOD_NOT_FOUND);
    let notification = br#"{ "jsonrpc": "2.0", "method": "notifications/initialized" }"#;
    assert_eq!(world.server.handle(Some(&lease), notification).await.status, 202);
    let (_, invalid) = world.send(Some(&lease), "tools/call", &json!({ "arguments": {} })).await;
    assert_eq!(invalid["error"]["code"], rpc::INVALID_PARAMS);
}
