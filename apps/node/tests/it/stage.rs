//! A node and the small orchestrator that it talks to.

use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use cynode_domain::ids::JobId;
use cynode_wire::nodes::Assignment;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::fake::{Fake, Node, Served, join_token};

/// A node's machine, and the orchestrator it talks to.
pub(crate) struct Stage {
    pub(crate) fake: Fake,
    pub(crate) address: SocketAddr,
    /// None while it is away.
    pub(crate) served: Option<Served>,
    pub(crate) state: tempfile::TempDir,
}

impl Stage {
    pub(crate) async fn new() -> Self {
        let fake = Fake::default();
        let (address, served) = fake.serve("127.0.0.1:0".parse().unwrap()).await;
        Self { fake, address, served: Some(served), state: tempfile::tempdir().unwrap() }
    }

    pub(crate) async fn node(&self) -> Node {
        Node::start(self.state.path(), self.address).await
    }

    /// The real program, so that it can be killed.
    pub(crate) fn process(&self) -> Process {
        join_token(self.state.path());
        let child = Command::new(env!("CARGO_BIN_EXE_cynode-node"))
            .args(["--orchestrator-url", &format!("http://{}", self.address), "--data-dir"])
            .arg(self.state.path())
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Process(child)
    }

    pub(crate) fn workspace(&self, job: &Assignment) -> std::path::PathBuf {
        self.state.path().join("node/workspaces").join(job.task_id.to_string())
    }

    pub(crate) fn job_dir(&self, job: JobId) -> std::path::PathBuf {
        self.state.path().join("node/jobs").join(job.to_string())
    }
}

/// A node of its own, which does not outlive a test that fails.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Asks it to stop, and says whether it did so in order.
    pub(crate) fn stop(&mut self) -> bool {
        kill(Pid::from_raw(i32::try_from(self.0.id()).unwrap()), Signal::SIGTERM).unwrap();
        self.0.wait().unwrap().success()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended already is no failure of the test.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
