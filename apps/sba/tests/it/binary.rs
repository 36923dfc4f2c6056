//! Files, standard streams, exit codes and signals.

use std::fs;
use std::io::Write as _;
use std::process::{Child, Command, Output, Stdio};

use cynode_testkit::provider::{Answer, ScriptedProvider};
use cynode_wire::agent_jobs::{
    ActionFormat, AgentJobResult, AgentJobSpec, AgentJobStatus, StopCondition,
};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;

const JOB: &str = "0193a4b2-0000-7000-8000-000000000001";

struct AgentTestbed {
    folder: TempDir,
    provider: ScriptedProvider,
}

impl AgentTestbed {
    fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for directory in ["job", "workspace"] {
            fs::create_dir(folder.path().join(directory)).unwrap();
        }
        let provider = ScriptedProvider::start();
        provider.script(answers);
        let sandbox = Self { folder, provider };
        sandbox.write("job/job.json", &spec().to_string());
        sandbox
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.folder.path().join(name), content).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    fn result(&self) -> AgentJobResult {
        serde_json::from_str(&self.read("job/result.json")).unwrap()
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_cynode-sba"));
        command
            .env("OPENAI_BASE_URL", self.provider.openai_url())
            .arg("--workspace")
            .arg(self.folder.path().join("workspace"));
        command
    }

    fn with_files(&self) -> Command {
        let mut command = self.command();
        let job = self.folder.path().join("job");
        command.arg("--job").arg(job.join("job.json"));
        command.arg("--result").arg(job.join("result.json"));
        command
    }
}

fn spec() -> Value {
    let spec = json!({
        "protocol_version": "1.0", "job_id": JOB, "task_id": JOB,
        "execution_mode": "agent_inference",
        "constraints": { "max_runtime_seconds": 60, "max_output_bytes": 4000, "max_steps": 20 },
        "inference": { "allowed_models": ["scripted-model"] },
        "context": {
            "task_context": "Make greet.sh greet the world.",
            "acceptance_criteria": [
                { "kind": "command_succeeds", "command": "sh greet.sh | grep -q 'hello, world'" },
            ],
        },
    });
    serde_json::from_value::<AgentJobSpec>(spec.clone()).unwrap();
    spec
}

fn repair() -> [Answer; 4] {
    let edits = json!([{ "old": "  name=word", "new": "  name=world" }]);
    [
        Answer::tool_call("read_file", json!({ "path": "greet.sh" })),
        Answer::tool_call("edit_file", json!({ "path": "greet.sh", "edits": edits })),
        Answer::tool_call("run_command", json!({ "command": "sh greet.sh" })),
        Answer::tool_call("finish", json!({ "summary": "It greets the world.", "evidence": [] })),
    ]
}

fn lines(output: &[u8]) -> Vec<Value> {
    let text = String::from_utf8(output.to_vec()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_model_repairs_a_file_and_the_result_is_written() {
    let sandbox = AgentTestbed::new(repair());
    sandbox.write("workspace/greet.sh", "if true; then\n\tname=word\nfi\necho \"hello, $name\"\n");

    let output = sandbox.with_files().output().unwrap();

    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let result = sandbox.result();
    assert_eq!((result.status, result.stop), (AgentJobStatus::Success, StopCondition::GoalMet));
    assert_eq!(result.changed_files, ["greet.sh"]);
    assert_eq!(result.evidence.len(), 1);
    assert_eq!(result.usage.calls, 4);
    assert!(sandbox.read("workspace/greet.sh").contains("\tname=world\n"));
    let kinds: Vec<Value> = lines(&output.stdout).iter().map(|line| line["kind"].clone()).collect();
    let expected = ["read_file", "edit_file", "run_command", "run_command", "finish", "stop"];
    assert_eq!(kinds, expected);
    // Nothing but the result is left beside the specification.
    assert_eq!(fs::read_dir(sandbox.folder.path().join("job")).unwrap().count(), 2);
}

#[test]
fn standard_streams_replace_the_files() {
    let sandbox = AgentTestbed::new(repair());
    sandbox.write("workspace/greet.sh", "name=word\necho \"hello, $name\"\n");
    let mut command = sandbox.command();
    command.args(["--job", "-", "--result", "-"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(spec().to_string().as_bytes()).unwrap();

    let output = child.wait_with_output().unwrap();

    let result: AgentJobResult = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), result.stop), (Some(0), StopCondition::GoalMet));
    assert_eq!(lines(&output.stderr).len(), 6);
}

#[test]
fn a_rejected_specification_has_a_result_and_exit_code_1() {
    let sandbox = AgentTestbed::new([]);
    for document in ["{\"protocol_version\": \"2.0\"}", "not JSON", ""] {
        sandbox.write("job/job.json", document);
        let output = sandbox.with_files().output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(sandbox.result().stop, StopCondition::InvalidSpec);
    }
    fs::remove_file(sandbox.folder.path().join("job/job.json")).unwrap();
    assert_eq!(sandbox.with_files().output().unwrap().status.code(), Some(1));
    assert_eq!(sandbox.result().stop, StopCondition::InvalidSpec);
}

#[test]
fn the_environment_chooses_the_action_format() {
    let finish = "```json\n{\"action\": \"give_up\", \"reason\": \"a test\"}\n```";
    let sandbox = AgentTestbed::new([Answer::text(finish)]);

    let output = sandbox.with_files().env("CYNODE_ACTION_FORMAT", "fenced_text").output().unwrap();

    assert_eq!(output.status.code(), Some(1));
    let result = sandbox.result();
    assert_eq!(result.stop, StopCondition::GaveUp);
    assert_eq!(result.action_format, Some(ActionFormat::FencedText));
}

#[test]
fn sigterm_ends_the_command_and_writes_the_result() {
    let command = "echo $$ > pid.tmp; mv pid.tmp pid; sleep 1000";
    let sandbox =
        AgentTestbed::new([Answer::tool_call("run_command", json!({ "command": command }))]);
    let pid_file = sandbox.folder.path().join("workspace/pid");
    let child = sandbox.with_files().stdout(Stdio::piped()).spawn().unwrap();
    while !pid_file.exists() {
        std::thread::yield_now();
    }

    let output = terminate(child);

    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let result = sandbox.result();
    assert_eq!(result.stop, StopCondition::GaveUp);
    assert_eq!(result.failure_message.as_deref(), Some("stopped on request"));
    assert_eq!(result.changed_files, ["pid"]);
    assert_eq!(result.steps.len(), 1);
    let pid: i32 = fs::read_to_string(pid_file).unwrap().trim().parse().unwrap();
    // The shell was the agent's own child, so it is reaped or a zombie.
    let state = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "{state}");
}

#[test]
fn sigterm_while_the_model_is_silent_writes_the_result() {
    let sandbox = AgentTestbed::new([Answer::no_response()]);
    let child = sandbox.with_files().stdout(Stdio::piped()).spawn().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(sandbox.provider.wait_for_requests(1));

    let output = terminate(child);

    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(sandbox.result().stop, StopCondition::GaveUp);
}

fn terminate(child: Child) -> Output {
    kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), Signal::SIGTERM).unwrap();
    child.wait_with_output().unwrap()
}
