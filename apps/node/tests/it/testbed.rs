//! A node with its fake orchestrator.

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use cynode_domain::ids::JobId;
use cynode_runtime::failpoint;
use cynode_wire::nodes::Assignment;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::fake_orchestrator::{
    InProcessNode, OrchestratorFake, REPOSITORIES, ServedOrchestratorFake, join_token,
};
use crate::workbench::{TEST_TIMEOUT, node_program};

/// Sends a request to the way out of the sandbox, as one to `HOST` if it is set; prints the status and the body in one line.
const REQUEST_FUNCTION: &str = r#"
request() {
    exec 3<>/dev/tcp/127.0.0.1/3128 || return
    printf '%s %s HTTP/1.0\r\nHost: %s\r\n%b\r\n' "$1" "$2" "${HOST:-127.0.0.1:3128}" "$3" >&3
    answer=$(tr -d '\r' <&3)
    exec 3>&-
    status=${answer#* }
    body=${answer#*$'\n\n'}
    echo "${status%% *} $(echo $body)"
}"#;

/// State directory of a node, and its fake orchestrator.
pub(crate) struct NodeTestbed {
    pub(crate) fake: OrchestratorFake,
    pub(crate) address: SocketAddr,
    /// `None` while it is stopped.
    pub(crate) served: Option<ServedOrchestratorFake>,
    pub(crate) state: tempfile::TempDir,
}

impl NodeTestbed {
    pub(crate) async fn new() -> Self {
        let fake = OrchestratorFake::default();
        let (address, served) = fake.serve("127.0.0.1:0".parse().unwrap()).await;
        Self { fake, address, served: Some(served), state: tempfile::tempdir().unwrap() }
    }

    pub(crate) async fn start_node(&self) -> InProcessNode {
        InProcessNode::start(self.state.path(), self.address).await
    }

    /// Sets the program of agents: a script for bash. `request METHOD TARGET [HEADER]` prints status and body.
    pub(crate) fn set_agent(&self, script: &str) {
        let path = self.agent_path();
        fs::write(&path, format!("#!/bin/bash\n{REQUEST_FUNCTION}\n{script}\n")).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
    }

    /// Sets the program of agents to that of the product.
    pub(crate) fn set_product_agent(&self) {
        // Tests are in `deps` of the build directory, examples beside it.
        let own = std::env::current_exe().unwrap();
        let program = own.ancestors().nth(2).unwrap().join("examples/agent_program");
        assert!(program.is_file(), "{} is not built: run every target", program.display());
        symlink(program, self.agent_path()).unwrap();
    }

    fn agent_path(&self) -> PathBuf {
        self.state.path().join("agent.sh")
    }

    /// Starts the real executable, so that it can be killed.
    pub(crate) fn spawn_process(&self) -> NodeProcess {
        self.spawn_process_with(&[])
    }

    pub(crate) fn spawn_process_with(&self, options: &[&str]) -> NodeProcess {
        self.spawn_process_in(&[], options)
    }

    /// Starts it with more variables in its environment.
    pub(crate) fn spawn_process_in(
        &self,
        variables: &[(&str, &Path)],
        options: &[&str],
    ) -> NodeProcess {
        join_token(self.state.path());
        let path = self.agent_path();
        let child = Command::new(node_program())
            .args(["--orchestrator-url", &format!("http://{}", self.address), "--data-dir"])
            .arg(self.state.path())
            // Without a script there is none, even if one is next to the program.
            .arg("--agent-program")
            .arg(path)
            .arg("--repository-path")
            .arg(self.state.path().join(REPOSITORIES))
            .args(options)
            .envs(variables.iter().copied())
            .env(failpoint::DIRECTORY_VAR, self.state.path().join("failpoints"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        NodeProcess(child)
    }

    pub(crate) fn workspace(&self, job: &Assignment) -> std::path::PathBuf {
        self.state.path().join("node/workspaces").join(job.task_id.to_string())
    }

    /// Waits until the job has created this file in its workspace.
    pub(crate) async fn wait_for_file(&self, job: &Assignment, name: &str) {
        let path = self.workspace(job).join(name);
        let appears = async {
            while !path.exists() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(TEST_TIMEOUT, appears).await;
        waited.unwrap_or_else(|_| panic!("{name} was not created"));
    }

    pub(crate) fn job_dir(&self, job: JobId) -> std::path::PathBuf {
        self.state.path().join("node/jobs").join(job.to_string())
    }
}

/// A node process, killed when dropped.
pub(crate) struct NodeProcess(Child);

impl NodeProcess {
    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    pub(crate) fn send(&self, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), signal).unwrap();
    }

    /// Sends SIGTERM; returns whether it exited successfully.
    pub(crate) fn stop(&mut self) -> bool {
        self.send(Signal::SIGTERM);
        self.0.wait().unwrap().success()
    }
}

impl Drop for NodeProcess {
    fn drop(&mut self) {
        // The process may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
