//! A job with its workspace, and agents that are shell scripts.
//!
//! Requests of the client are numbered from 1 in order, so a script knows the id of each.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cynode_acp_client::{McpBridgeCommand, ProgramOptions, ProgramTimeouts, run_program};
use cynode_agent_job::OpenJob;
use cynode_runtime::shutdown::Shutdown;
use cynode_wire::agent_jobs::AgentJobResult;
use cynode_wire::transcript::TranscriptLine;
use serde_json::{Value, json};
use tempfile::TempDir;

const JOB: &str = "0193a4b2-0000-7000-8000-000000000001";

pub(crate) struct TestProgram {
    pub(crate) folder: TempDir,
    pub(crate) spec: Value,
    pub(crate) options: ProgramOptions,
    pub(crate) shutdown: Shutdown,
    progress: WrittenBytes,
}

/// What was written to the transcript.
#[derive(Clone, Default)]
struct WrittenBytes(Arc<Mutex<Vec<u8>>>);

impl Write for WrittenBytes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TestProgram {
    /// A job that this program carries out.
    pub(crate) fn new(program: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("work")).unwrap();
        let spec = json!({
            "protocol_version": "1.0", "job_id": JOB, "task_id": JOB,
            "execution_mode": "agent_inference",
            "constraints": { "max_runtime_seconds": 300, "max_output_bytes": 4000, "max_steps": 20 },
            "context": {
                "task_context": "Repair the file.",
                "acceptance_criteria": [{ "kind": "command_succeeds", "command": "make check" }],
            },
            "program": program,
        });
        let bridge = McpBridgeCommand {
            program: PathBuf::from("/job/agent"),
            args: vec!["mcp-bridge".to_owned()],
            env: vec![("CYNODE_MCP_URL".to_owned(), "http://127.0.0.1:1/mcp".to_owned())],
        };
        let options = ProgramOptions { mcp_bridge: Some(bridge), ..ProgramOptions::default() };
        let (shutdown, progress) = (Shutdown::new(), WrittenBytes::default());
        Self { folder, spec, options, shutdown, progress }
    }

    /// A job of an agent that runs this shell script; `fields` are further fields of its program.
    pub(crate) fn with_agent(script: &str, fields: &Value) -> Self {
        let job = Self::new(&json!({ "kind": "acp", "command": ["/bin/sh"] }));
        let mut job = job.with_fields(fields);
        let path = job.folder.path().join("agent.sh");
        fs::write(&path, script).unwrap();
        job.spec["program"]["command"] = json!(["/bin/sh", path]);
        job
    }

    /// A job of a script whose timeouts are short.
    pub(crate) fn with_impatience(script: &str) -> Self {
        let mut job = Self::with_agent(script, &json!({}));
        let short = Duration::from_millis(300);
        job.options.timeouts = ProgramTimeouts { handshake: short, cancel: short, exit: short };
        job
    }

    fn with_fields(mut self, fields: &Value) -> Self {
        for (name, value) in fields.as_object().unwrap() {
            self.spec["program"][name] = value.clone();
        }
        self
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(crate) fn write(&self, name: &str, content: &str) {
        fs::write(self.workspace().join(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.workspace().join(name)).unwrap()
    }

    pub(crate) async fn run(&self) -> AgentJobResult {
        let document = self.spec.to_string();
        let progress = Box::new(self.progress.clone());
        let opened = OpenJob::open(document.as_bytes(), &self.workspace(), progress).await;
        match opened {
            Ok(job) => run_program(job, &self.options, &self.shutdown).await,
            Err(result) => *result,
        }
    }

    /// The transcript so far.
    pub(crate) fn transcript(&self) -> Vec<TranscriptLine> {
        let text = String::from_utf8(self.progress.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn transcript_bytes(&self) -> usize {
        self.progress.0.lock().unwrap().len()
    }

    /// The lines of a kind.
    pub(crate) fn lines_of(&self, kind: &str) -> Vec<TranscriptLine> {
        self.transcript().into_iter().filter(|line| line.kind == kind).collect()
    }

    /// The messages that the agent received: scripts write them to `received`.
    pub(crate) fn received(&self) -> Vec<Value> {
        let text = self.read("received");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Builds the script of an agent.
#[derive(Debug, Default)]
pub(crate) struct AgentScript(String);

impl AgentScript {
    /// An agent that has opened the session `s`; its prompt has the id 3.
    pub(crate) fn with_session() -> Self {
        Self::default()
            .receive()
            .send(&response(1, &json!({ "protocolVersion": 1, "agentCapabilities": {} })))
            .receive()
            .send(&response(2, &json!({ "sessionId": "s" })))
            .receive()
    }

    /// Reads a message and records it.
    pub(crate) fn receive(self) -> Self {
        self.run("IFS= read -r line && printf '%s\\n' \"$line\" >> received")
    }

    pub(crate) fn send(mut self, message: &Value) -> Self {
        write!(self.0, "cat <<'END_OF_MESSAGE'\n{message}\nEND_OF_MESSAGE\n").unwrap();
        self
    }

    pub(crate) fn update(self, update: &Value) -> Self {
        let params = json!({ "sessionId": "s", "update": update });
        self.send(&json!({ "jsonrpc": "2.0", "method": "session/update", "params": params }))
    }

    pub(crate) fn say(self, text: &str) -> Self {
        let content = json!({ "type": "text", "text": text });
        self.update(&json!({ "sessionUpdate": "agent_message_chunk", "content": content }))
    }

    /// Sends a request and records the response.
    pub(crate) fn ask(self, id: &str, method: &str, params: &Value) -> Self {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
            .receive()
    }

    /// Runs a shell command.
    pub(crate) fn run(mut self, command: &str) -> Self {
        self.0.push_str(command);
        self.0.push('\n');
        self
    }

    /// Ends the turn.
    pub(crate) fn end_turn(self) -> String {
        self.stop("end_turn")
    }

    pub(crate) fn stop(self, reason: &str) -> String {
        self.send(&response(3, &json!({ "stopReason": reason }))).0
    }

    pub(crate) fn build(self) -> String {
        self.0
    }
}

pub(crate) fn response(id: u64, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

pub(crate) fn error(id: u64, code: i64, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
