//! Agents of other vendors, unmodified, from the profile to the changed file: canary run, sandbox, model, diff.
//!
//! `cargo xtask agents` installs them and runs these tests; the default filter of the test runner leaves them out.

use std::path::{Path, PathBuf};

use cynode_testkit::provider::{Answer, ScriptedProvider};
use serde_json::{Value, json};

use crate::programs::{ProgramOutput, binary_path};
use crate::repositories::{create_repository, git};
use crate::system::{System, SystemDatabase};

/// The command that the scripted model gives.
const CORRECTION: &str = "sed -i s/helo/hello/ greeting.txt";
const PROMPT: &str = "greeting.txt greets with a spelling mistake. Correct it.";

/// The directory of an installed agent.
fn installed(name: &str) -> PathBuf {
    let target = binary_path("cynode").ancestors().nth(2).unwrap().to_owned();
    let path = target.join("tools/agents").join(name);
    assert!(path.exists(), "{} is missing: run `cargo xtask agents`", path.display());
    path.canonicalize().unwrap()
}

/// A system with a repository, whose sandboxes see the directory of an agent.
struct AgentSystem {
    system: System,
    provider: ScriptedProvider,
    remote: PathBuf,
    _home: tempfile::TempDir,
}

impl AgentSystem {
    async fn start(exposed: &[PathBuf]) -> Self {
        let (home, remote) = create_repository();
        let (allowed, exposed) = (json!([remote.parent().unwrap()]), json!(exposed));
        let config = format!("[node]\nrepository_paths = {allowed}\nexpose = {exposed}\n");
        let provider = ScriptedProvider::start();
        let system = System::with(SystemDatabase::Embedded, &config).await;
        let body = json!({
            "kind": "openai", "base_url": provider.openai_url(), "allow": "everyone",
            "models": ["scripted-model", "strong-model"],
        });
        let body = serde_json::from_value(body).unwrap();
        system.client.provider_put("scripted", &body).await.unwrap();
        Self { system, provider, remote, _home: home }
    }

    /// Adds the profile, and shows that it is not used before its canary run has passed.
    fn admit(&self, name: &str, program: &[&str]) {
        let add = [&["agent", "profiles", "add", name], program].concat();
        self.system.cynork(&add).expect_success();
        let listed = self.profile(name);
        assert_eq!(listed["nodes"][0]["status"], "not_run", "{listed}");

        let canary = self.system.cynork(&["agent", "canary", name]).expect_success().stdout;

        assert!(!canary.contains('✗'), "{canary}");
        assert_eq!(self.profile(name)["nodes"][0]["status"], "passed", "{canary}");
    }

    fn profile(&self, name: &str) -> Value {
        let get = ["-o", "json", "agent", "profiles", "get", name];
        serde_json::from_str(&self.system.cynork(&get).expect_success().stdout).unwrap()
    }

    /// Lets the agent correct the file of the repository.
    fn correct(&self, agent: &str) -> ProgramOutput {
        let url = self.remote.to_str().unwrap();
        let check = "check:grep -qx hello greeting.txt";
        let create = ["task", "create", "--repo", url, "--name", "fix", "--agent", agent];
        let rest = ["--accept", check, "--wait", PROMPT];
        self.system.cynork(&[&create[..], &rest].concat())
    }

    /// The change is in the diff, it was verified, and every model call was made through the product.
    fn check_corrected(&self, created: ProgramOutput) {
        created.expect_success();
        let patch = self.system.cynork(&["task", "diff", "fix"]).expect_success().stdout;
        assert!(patch.contains("-helo\n+hello\n"), "{patch}");
        let shown = self.system.cynork(&["-o", "json", "task", "get", "fix"]).expect_success();
        let task: Value = serde_json::from_str(&shown.stdout).unwrap();
        assert_eq!(task["verification"], "verified", "{task}");
        let calls = self.system.cynork(&["-o", "json", "brain", "calls"]).expect_success().stdout;
        let calls: Value = serde_json::from_str(&calls).unwrap();
        let calls = calls["calls"]["items"].as_array().unwrap().len();
        assert_eq!(calls, self.provider.requests().len(), "calls on record");
        self.system.cynork(&["task", "push", "fix", "--wait"]).expect_success();
        assert_eq!(git(&self.remote, &["show", "cynode/fix:greeting.txt"]), "hello");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn opencode_corrects_a_file_of_a_repository_over_acp() {
    let home = installed("opencode");
    let program = home.join("node_modules/opencode-linux-x64/bin/opencode");
    let agent = AgentSystem::start(&[home]).await;
    // Only the model is OpenCode's own configuration; the address is that of the sandbox.
    let config = json!({
        "autoupdate": false,
        "share": "disabled",
        "model": "cynode/strong",
        "small_model": "cynode/strong",
        "provider": { "cynode": {
            "npm": "@ai-sdk/openai-compatible",
            "options": { "baseURL": "{env:OPENAI_BASE_URL}" },
            "models": { "strong": { "name": "strong", "limit": { "context": 32000, "output": 4000 } } },
        } },
    });
    let env = format!("OPENCODE_CONFIG_CONTENT={config}");
    let command = format!("{} acp", program.display());
    agent.admit("opencode", &["--acp", &command, "--env", &env]);
    agent.provider.when("title generator", Answer::text("Spelling"));
    let bash = json!({ "command": CORRECTION, "description": "Correct the spelling" });
    agent.provider.script([Answer::tool_call("bash", bash), Answer::text("I corrected it.")]);
    agent.provider.otherwise(Answer::text("Nothing to add."));

    let created = agent.correct("opencode");

    agent.check_corrected(created);
}

#[tokio::test(flavor = "multi_thread")]
async fn mini_swe_agent_corrects_a_file_of_a_repository_by_command() {
    let home = installed("mini-swe-agent");
    let agent = AgentSystem::start(&python_directories(&home)).await;
    let command = format!(
        "{} --model openai/strong --task {{prompt}} --yolo --exit-immediately --cost-limit 0 --output /tmp/trajectory.json",
        home.join("bin/mini").display()
    );
    let program = [
        "--command",
        &command,
        "--env",
        "MSWEA_CONFIGURED=true",
        "--env",
        "MSWEA_COST_TRACKING=ignore_errors",
        "--env",
        "LITELLM_LOCAL_MODEL_COST_MAP=True",
    ];
    agent.admit("mini", &program);
    let bash = |line: &str| Answer::tool_call("bash", json!({ "command": line }));
    let submit = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";
    agent.provider.script([bash(CORRECTION), bash(submit)]);

    let created = agent.correct("mini");

    agent.check_corrected(created);
}

/// The virtual environment, and the Python that it was made from unless that belongs to the system.
fn python_directories(home: &Path) -> Vec<PathBuf> {
    let python = home.join("bin/python").canonicalize().unwrap();
    let lender = python.parent().and_then(Path::parent).unwrap().to_owned();
    let own = (!lender.starts_with("/usr")).then_some(lender);
    [Some(home.to_owned()), own].into_iter().flatten().collect()
}
