//! A job with its workspace and a scripted model.

use std::fs;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cynode_runtime::shutdown::Shutdown;
use cynode_sandbox_agent::{AgentOptions, RetryPolicy, run_job};
use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::agent_jobs::AgentJobResult;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const JOB: &str = "0193a4b2-0000-7000-8000-000000000001";
pub(crate) const TASK: &str = "0193a4b2-0000-7000-8000-000000000002";

pub(crate) struct TestJob {
    pub(crate) folder: TempDir,
    pub(crate) provider: ScriptedProvider,
    pub(crate) spec: Value,
    pub(crate) options: AgentOptions,
    pub(crate) shutdown: Shutdown,
    progress: ProgressCapture,
}

/// What was written to the progress stream.
#[derive(Clone, Default)]
struct ProgressCapture(Arc<Mutex<Vec<u8>>>);

impl Write for ProgressCapture {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl TestJob {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let provider = ScriptedProvider::start();
        let options = AgentOptions {
            workspace: folder.path().to_owned(),
            model_url: Some(provider.openai_url()),
            mcp_url: None,
            action_format: None,
            retry: RetryPolicy { attempts: 3, first_pause: Duration::ZERO },
            instruction_interval: Duration::ZERO,
        };
        let spec = json!({
            "protocol_version": "1.0", "job_id": JOB, "task_id": TASK,
            "execution_mode": "agent_inference",
            "constraints": { "max_runtime_seconds": 300, "max_output_bytes": 4000, "max_steps": 20 },
            "inference": { "allowed_models": ["scripted-model"] },
            "context": { "task_context": "Repair the file." },
        });
        let (shutdown, progress) = (Shutdown::new(), ProgressCapture::default());
        Self { folder, provider, spec, options, shutdown, progress }
    }

    /// A job whose model gives these answers.
    pub(crate) fn with_script(answers: impl IntoIterator<Item = Answer>) -> Self {
        let job = Self::new();
        job.provider.script(answers);
        job
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.folder.path().join(name), content).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    pub(crate) async fn run(&self) -> AgentJobResult {
        let document = self.spec.to_string();
        let progress = Box::new(self.progress.clone());
        run_job(document.as_bytes(), &self.options, progress, &self.shutdown).await
    }

    /// The lines of progress so far.
    pub(crate) fn progress(&self) -> Vec<Value> {
        let text = String::from_utf8(self.progress.0.lock().unwrap().clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The last message of each request of the model.
    pub(crate) fn observations(&self) -> Vec<String> {
        let requests = self.provider.requests();
        requests.iter().map(|request| request.last_message().to_owned()).collect()
    }
}

pub(crate) fn read(path: &str) -> Answer {
    Answer::tool_call("read_file", json!({ "path": path }))
}

pub(crate) fn edit(path: &str, old: &str, new: &str) -> Answer {
    Answer::tool_call("edit_file", json!({ "path": path, "edits": [{ "old": old, "new": new }] }))
}

pub(crate) fn command(command: &str) -> Answer {
    Answer::tool_call("run_command", json!({ "command": command }))
}

pub(crate) fn finish() -> Answer {
    Answer::tool_call("finish", json!({ "summary": "Repaired.", "evidence": [] }))
}

/// An answer in text.
pub(crate) fn text(value: &Value) -> Answer {
    Answer::text(&value.to_string())
}
