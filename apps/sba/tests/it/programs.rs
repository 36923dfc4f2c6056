//! Programs of other vendors, and the MCP server that they start.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use cynode_mcp_fixture::{McpFixture, serve};
use cynode_wire::agent_jobs::{AgentJobResult, StopCondition};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

const JOB: &str = "0193a4b2-0000-7000-8000-000000000001";
const MCP_URL: &str = "http://127.0.0.1:1/mcp";

/// An agent that writes a file and keeps the request for a session.
const AGENT: &str = r#"
read -r line
echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1}}'
read -r line; printf '%s\n' "$line" > session.json
echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}'
read -r line
echo hello > greeting
echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Greeted."}}}}'
touch ready
AFTER
echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
"#;

struct ProgramTestbed(TempDir);

impl ProgramTestbed {
    /// A job whose program is a shell script.
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("workspace")).unwrap();
        let path = folder.path().join("agent.sh");
        fs::write(&path, script).unwrap();
        let spec = json!({
            "protocol_version": "1.0", "job_id": JOB, "task_id": JOB,
            "execution_mode": "agent_inference",
            "constraints": { "max_runtime_seconds": 60, "max_output_bytes": 4000, "max_steps": 20 },
            "context": { "task_context": "Greet." },
            "program": { "kind": "acp", "command": ["/bin/sh", path] },
        });
        fs::write(folder.path().join("job.json"), spec.to_string()).unwrap();
        Self(folder)
    }

    fn command(&self) -> Command {
        let folder = self.0.path();
        let mut command = Command::new(env!("CARGO_BIN_EXE_cynode-sba"));
        command.env("CYNODE_MCP_URL", MCP_URL);
        command.arg("--workspace").arg(folder.join("workspace"));
        command.arg("--job").arg(folder.join("job.json"));
        command.arg("--result").arg(folder.join("result.json"));
        command
    }

    fn result(&self) -> AgentJobResult {
        let text = fs::read_to_string(self.0.path().join("result.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

fn kinds(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let line = |line: &str| serde_json::from_str::<Value>(line).unwrap()["kind"].clone();
    text.lines().map(line).collect()
}

#[test]
fn an_agent_carries_out_the_job_and_is_told_to_start_the_bridge() {
    let testbed = ProgramTestbed::new(&AGENT.replace("AFTER", ""));

    let output = testbed.command().output().unwrap();

    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let result = testbed.result();
    assert_eq!((result.stop, result.summary.as_str()), (StopCondition::GoalMet, "Greeted."));
    assert_eq!(result.changed_files, ["greeting", "ready", "session.json"]);
    assert_eq!(kinds(&output), ["message", "stop"]);
    let session = fs::read_to_string(testbed.0.path().join("workspace/session.json")).unwrap();
    let session: Value = serde_json::from_str(&session).unwrap();
    let server = &session["params"]["mcpServers"][0];
    assert_eq!(server["command"], env!("CARGO_BIN_EXE_cynode-sba"));
    assert_eq!(server["args"], json!(["mcp-bridge"]));
    assert_eq!(server["env"], json!([{ "name": "CYNODE_MCP_URL", "value": MCP_URL }]));
}

#[test]
fn sigterm_cancels_the_turn_and_writes_the_result() {
    let testbed =
        ProgramTestbed::new(&AGENT.replace("AFTER", "read -r line; echo \"$line\" > end"));
    let child = testbed.command().stdout(Stdio::piped()).spawn().unwrap();
    while !testbed.0.path().join("workspace/ready").exists() {
        std::thread::yield_now();
    }

    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
    let output = child.wait_with_output().unwrap();

    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(testbed.result().stop, StopCondition::GaveUp);
    let end = fs::read_to_string(testbed.0.path().join("workspace/end")).unwrap();
    assert!(end.contains("session/cancel"), "{end}");
}

#[test]
fn the_bridge_serves_the_tools_of_an_mcp_server_until_its_input_ends() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    runtime.spawn(serve(Arc::new(McpFixture::new().unwrap()), listener));
    let mut bridge = Command::new(env!("CARGO_BIN_EXE_cynode-sba"))
        .arg("mcp-bridge")
        .env("CYNODE_MCP_URL", url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = bridge.stdin.take().unwrap();
    let mut output = BufReader::new(bridge.stdout.take().unwrap()).lines();
    let mut call = |id: u64, method: &str, params: Value| -> Value {
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        writeln!(input, "{message}").unwrap();
        loop {
            let line: Value = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
            if line["id"] == id {
                return line;
            }
        }
    };

    let opened = call(1, "initialize", json!({ "protocolVersion": "2025-06-18" }));
    let echoed =
        call(2, "tools/call", json!({ "name": "echo", "arguments": { "text": "through" } }));

    assert!(opened["result"]["serverInfo"].is_object(), "{opened}");
    assert!(echoed["result"].to_string().contains("through"), "{echoed}");
    drop(input);
    assert!(bridge.wait().unwrap().success());
}

#[test]
fn the_bridge_ends_on_sigterm_while_its_input_is_open() {
    let mut bridge = Command::new(env!("CARGO_BIN_EXE_cynode-sba"))
        .arg("mcp-bridge")
        .env("CYNODE_MCP_URL", MCP_URL)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // An answer shows that it handles signals by now.
    writeln!(bridge.stdin.as_mut().unwrap(), "no message").unwrap();
    let mut output = BufReader::new(bridge.stdout.take().unwrap()).lines();
    assert!(output.next().unwrap().unwrap().contains("error"));

    kill(Pid::from_raw(i32::try_from(bridge.id()).unwrap()), Signal::SIGTERM).unwrap();

    assert!(bridge.wait().unwrap().success());
}

#[test]
fn the_bridge_needs_an_address() {
    let output = Command::new(env!("CARGO_BIN_EXE_cynode-sba"))
        .arg("mcp-bridge")
        .env_remove("CYNODE_MCP_URL")
        .output()
        .unwrap();

    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("CYNODE_MCP_URL is not set"), "{text}");
}
