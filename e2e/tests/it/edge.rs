//! Tools of a worker node under capability leases: real processes, a unix socket, kills.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use cynode_client::{Client, McpClientError};
use cynode_domain::ids::TaskId;
use cynode_domain::policy::{AgentType, Effect, Stage};
use cynode_wire::agents::{BindingView, IssueAgentToken};
use cynode_wire::audit::{AuditQuery, CallView, VerifyQuery};
use cynode_wire::page::PageQuery;
use cynode_wire::tasks::TaskQuery;
use cynode_wire::tools::UpdateTool;
use secrecy::SecretString;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;

use crate::fleet::{NODE, ProcessFleet};
use crate::processes::wait_until_none_left;
use crate::system::PATIENCE;
use crate::work::{commands, create_task_once};

const ORCHESTRATOR: &str = "orchestrator";

/// An agent on the host of a node, with a lease for one sandbox.
struct HostAgent {
    socket: PathBuf,
    lease: String,
    task: TaskId,
    sandbox: Value,
}

impl HostAgent {
    /// Sends an HTTP request; returns status and body.
    async fn send(&self, lease: &str, message: &Value) -> (u16, Value) {
        let mut stream = UnixStream::connect(&self.socket).await.unwrap();
        let body = message.to_string();
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: node\r\nAuthorization: Bearer {lease}\r\nContent-Length: {}\r\n\
             Content-Type: application/json\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    async fn request(&self, tool: &str, more: &Value) -> (u16, Value) {
        let mut arguments = json!({ "task_id": self.task, "job_id": self.sandbox });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let params = json!({ "name": tool, "arguments": arguments });
        let message =
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        self.send(&self.lease, &message).await
    }

    /// Calls a tool that must succeed.
    async fn call(&self, tool: &str, more: &Value) -> Value {
        let (status, answer) = self.request(tool, more).await;
        assert_eq!(status, 200, "{answer}");
        assert_ne!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["structuredContent"].clone()
    }

    async fn exec(&self, command: &str) -> Value {
        self.call("sandbox.exec", &json!({ "command": command })).await
    }

    /// Waits until the node accepts the lease, or refuses it.
    async fn wait_for_status(&self, expected: u16) {
        let begun = Instant::now();
        loop {
            let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
            let (status, answer) = self.send(&self.lease, &ping).await;
            if status == expected {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "still {status}: {answer}");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

/// An orchestrator and a node with tools for agents on its host.
struct Edge {
    fleet: ProcessFleet,
    url: String,
    client: Client,
    manager: Client,
}

impl Edge {
    async fn new() -> Self {
        let mut fleet = ProcessFleet::new(None);
        let url = fleet.add_orchestrator(ORCHESTRATOR).await;
        fleet.add_node_with(NODE, &url, &["--edge"]).await;
        let client = fleet.client(&url);
        let manager = issue_agent(&client, &url, AgentType::Pm).await;
        Self { fleet, url, client, manager }
    }

    async fn create_sandbox(&self) -> (TaskId, Value) {
        let task = create_task_once(&self.client, commands(&["true"])).await;
        let made = self.manager.mcp_call("sandbox.create", &json!({ "task_id": task })).await;
        let made = made.unwrap().structured.unwrap();
        assert_eq!(made["status"], "ready", "{made}");
        (task, made["job_id"].clone())
    }

    async fn create_lease(&self, more: &Value) -> HostAgent {
        let (task, sandbox) = self.create_sandbox().await;
        let mut arguments = json!({ "task_id": task, "job_id": sandbox });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let lease = self.manager.mcp_call("node.lease.create", &arguments).await.unwrap();
        let lease = lease.structured.unwrap();
        assert_eq!(lease["node_slug"], NODE);
        let lease = lease["token"].as_str().unwrap().to_owned();
        let socket = self.fleet.node_state(NODE).join("edge/mcp.sock");
        let agent = HostAgent { socket, lease, task, sandbox };
        agent.wait_for_status(200).await;
        agent
    }

    /// The records of a node's calls about a task, once there are `count` with an outcome.
    async fn wait_for_records(&self, task: TaskId, count: usize) -> Vec<CallView> {
        let begun = Instant::now();
        loop {
            let query =
                AuditQuery { task_id: Some(task), limit: Some(200), ..AuditQuery::default() };
            let calls = self.client.call_list(&query).await.map(|page| page.items);
            let calls = calls.unwrap_or_default();
            let of_node = calls.into_iter().filter(|call| call.origin == format!("node:{NODE}"));
            let of_node: Vec<_> = of_node.collect();
            let is_complete = of_node.iter().all(|call| {
                call.decision == Effect::Deny
                    || call.duration_ms.is_some()
                    || call.error_type.is_some()
            });
            if of_node.len() >= count && is_complete {
                return of_node;
            }
            assert!(begun.elapsed() < PATIENCE, "{} records of {count}", of_node.len());
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

async fn issue_agent(client: &Client, url: &str, agent_type: AgentType) -> Client {
    let body = IssueAgentToken {
        agent_type,
        name: "test".to_owned(),
        user_id: None,
        expires_in_seconds: None,
        binding: BindingView::default(),
    };
    let secret = client.agent_token_issue(&body).await.unwrap().secret;
    Client::new(url, SecretString::from(secret)).unwrap()
}

#[tokio::test]
async fn calls_under_a_lease_go_on_without_the_orchestrator_and_are_recorded_there_once() {
    let mut edge = Edge::new().await;
    let agent = edge.create_lease(&json!({})).await;
    let ran = agent.exec("echo out; echo err >&2; echo kept > f; exit 3").await;
    assert_eq!(
        (&ran["exit_code"], &ran["stdout"], &ran["stderr"]),
        (&json!(3), &json!("out\n"), &json!("err\n"))
    );

    edge.fleet.kill(ORCHESTRATOR);

    let file = agent.call("sandbox.get_file", &json!({ "path": "f" })).await;
    assert_eq!(file["content_bytes_base64"], "a2VwdAo=");
    let new = json!({ "path": "sub/g", "content_bytes_base64": "bmV3" });
    assert_eq!(agent.call("sandbox.put_file", &new).await["size_bytes"], 3);
    assert_eq!(agent.exec("cat sub/g").await["stdout"], "new");
    let outside = json!({ "path": "../../../etc/passwd" });
    let (_, refused) = agent.request("sandbox.get_file", &outside).await;
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    let foreign = json!({ "command": "true", "task_id": TaskId::generate() });
    let (_, denied) = agent.request("sandbox.exec", &foreign).await;
    assert_eq!(denied["result"]["structuredContent"]["error"]["stage"], "context", "{denied}");
    let long = json!({ "command": "echo begun; sleep 60", "wait_ms": 0, "idempotency_key": "k" });
    let begun = agent.call("sandbox.exec", &long).await;
    assert_eq!(begun["status"], "running");
    let again = agent.call("sandbox.exec", &long).await;
    assert_eq!(again["exec_id"], begun["exec_id"]);

    // The node is killed too: it keeps its records and what it trusts, and ends its commands.
    edge.fleet.kill(NODE);
    edge.fleet.start(NODE);
    let started = Instant::now();
    while UnixStream::connect(&agent.socket).await.is_err() {
        assert!(started.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(agent.exec("cat f").await["stdout"], "kept\n");
    // A repeated key starts no second command, also after the kill.
    let ended = agent.call("sandbox.exec", &long).await;
    assert_eq!((&ended["exec_id"], &ended["status"]), (&begun["exec_id"], &json!("ended")));
    let logs = agent.call("sandbox.stream_logs", &json!({ "exec_id": begun["exec_id"] })).await;
    assert_eq!((&logs["text"], &logs["ended"]), (&json!("begun\n"), &json!(true)));

    edge.fleet.start(ORCHESTRATOR);
    // exec, get, put, exec, refused get, denied exec, long twice, exec, long again, logs
    let records = edge.wait_for_records(agent.task, 11).await;
    assert_eq!(records.iter().filter(|call| call.decision == Effect::Deny).count(), 1);
    // Nothing is sent twice, however often the node reports.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(edge.wait_for_records(agent.task, 11).await.len(), 11);
    let verified = edge.client.audit_verify(&VerifyQuery::default()).await.unwrap();
    assert!(verified.intact, "{verified:#?}");
}

#[tokio::test]
async fn a_lease_ends_with_its_sandbox_and_its_commands_end_with_it() {
    let edge = Edge::new().await;
    let agent =
        edge.create_lease(&json!({ "tools": ["sandbox.exec", "sandbox.stream_logs"] })).await;
    let begun = agent.call("sandbox.exec", &json!({ "command": "sleep 1000", "wait_ms": 0 })).await;
    let (_, denied) = agent.request("sandbox.get_file", &json!({ "path": "f" })).await;
    assert_eq!(denied["result"]["structuredContent"]["error"]["stage"], "rules", "{denied}");

    let ids = json!({ "task_id": agent.task, "job_id": agent.sandbox });
    edge.manager.mcp_call("sandbox.destroy", &ids).await.unwrap();

    agent.wait_for_status(401).await;
    let command =
        edge.fleet.node_state(NODE).join("edge/commands").join(begun["exec_id"].as_str().unwrap());
    assert!(wait_until_none_left(&command, PATIENCE).is_empty());
    let leases = edge.client.capability_lease_list(&PageQuery::default()).await.unwrap().items;
    assert_eq!(leases[0].revoked_reason.as_deref(), Some("its sandbox was destroyed"));
}

#[tokio::test]
async fn a_command_ends_with_the_newest_lease_of_its_caller() {
    let edge = Edge::new().await;
    let agent = edge.create_lease(&json!({ "expires_in_s": 10 })).await;
    let long = json!({ "command": "sleep 1000", "wait_ms": 0 });
    let first = agent.call("sandbox.exec", &long).await;
    let ids = json!({ "task_id": agent.task, "job_id": agent.sandbox, "expires_in_s": 25 });
    let longer =
        edge.manager.mcp_call("node.lease.create", &ids).await.unwrap().structured.unwrap();
    let longer = HostAgent { lease: longer["token"].as_str().unwrap().to_owned(), ..agent };
    let has_ended = async || {
        let logs = json!({ "exec_id": first["exec_id"] });
        longer.call("sandbox.stream_logs", &logs).await["ended"] == true
    };

    // The call under the longer lease extends the command.
    assert!(!has_ended().await);
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert!(!has_ended().await);

    let command = edge.fleet.node_state(NODE).join("edge/commands");
    assert!(wait_until_none_left(&command, PATIENCE).is_empty());
    longer.wait_for_status(401).await;
}

#[tokio::test]
async fn revoked_leases_rules_and_rotated_keys_count_within_seconds() {
    let edge = Edge::new().await;
    let (revoked, ruled) =
        (edge.create_lease(&json!({})).await, edge.create_lease(&json!({})).await);

    edge.client.lease_key_rotate().await.unwrap();
    let rotated = edge.create_lease(&json!({})).await;
    // A lease of the old key is valid until it ends.
    revoked.exec("true").await;
    rotated.exec("true").await;
    let leases = edge.client.capability_lease_list(&PageQuery::default()).await.unwrap().items;
    let of_task = |task| leases.iter().find(|lease| lease.task_id == task).unwrap().id;
    edge.client.capability_lease_revoke(of_task(revoked.task)).await.unwrap();
    revoked.wait_for_status(401).await;
    ruled.exec("true").await;
    let off = UpdateTool { enabled: Some(false), ..UpdateTool::default() };
    edge.client.tool_update("sandbox.exec", &off).await.unwrap();
    ruled.wait_for_status(401).await;
    rotated.wait_for_status(401).await;
}

#[tokio::test]
async fn a_lease_is_issued_for_what_its_caller_may_do_and_is_no_other_token() {
    let edge = Edge::new().await;
    let agent = edge.create_lease(&json!({ "tools": ["sandbox.get_file"] })).await;
    let ids = |more: Value| {
        let mut arguments = json!({ "task_id": agent.task, "job_id": agent.sandbox });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };

    // More than the node offers, more than the role may, another sandbox, too long.
    for (arguments, expected) in [
        (ids(json!({ "tools": ["db.task.delete"] })), "not permitted"),
        (ids(json!({ "tools": [] })), "at least one"),
        (ids(json!({ "holder_key": "zz".repeat(32) })), "Ed25519"),
        (json!({ "task_id": agent.task, "job_id": TaskId::generate() }), "not found"),
    ] {
        let refused = edge.manager.mcp_call("node.lease.create", &arguments).await.unwrap_err();
        assert!(refused.to_string().contains(expected), "{refused}");
    }
    let analyst = issue_agent(&edge.client, &edge.url, AgentType::Pa).await;
    let refused = analyst.mcp_call("node.lease.create", &ids(json!({}))).await;
    assert!(matches!(refused, Err(McpClientError::Refused { .. })), "{refused:?}");

    // A lease opens nothing but the node.
    let thief = Client::new(&edge.url, SecretString::from(agent.lease.clone())).unwrap();
    assert_eq!(thief.task_list(&TaskQuery::default()).await.unwrap_err().status(), Some(401));
    let refused = thief.mcp_call("db.task.list", &json!({})).await;
    let is_refused =
        |stage| matches!(&refused, Err(McpClientError::Refused { stage: at, .. }) if *at == stage);
    assert!(is_refused(Stage::Authenticate), "{refused:?}");
    // And no other token opens the node.
    let admin = std::fs::read_to_string(edge.fleet.data().join("admin.token")).unwrap();
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    for token in [admin.trim(), "", "cyn_lease_", "cyn_pm_x"] {
        assert_eq!(agent.send(token, &ping).await.0, 401);
    }
}
