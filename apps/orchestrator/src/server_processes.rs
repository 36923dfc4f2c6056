//! Runs installed stdio MCP servers in the same sandboxes as jobs.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use cynode_domain::job::Limits;
use cynode_upstream::ProcessHandle;
use cynode_upstream::ProcessSpawner;
use cynode_upstream::ServerCommand;
use cynode_upstream::ServerProcess;
use cynode_upstream::SpawnError;
use cynode_worker::sandbox::{InteractiveControl, InteractiveProgram, Sandbox, SandboxOptions};
use tokio::sync::OnceCell;

/// Limits of each process and its children.
const LIMITS: Limits = Limits {
    // Not enforced: a server runs for as long as it is installed.
    timeout_s: 0,
    memory_mib: 1024,
    processes: 256,
    output_bytes: 0,
    disk_mib: 1024,
};

/// Starts server processes. The sandbox is prepared on first use.
pub(crate) struct ServerProcessSpawner {
    options: SandboxOptions,
    sandbox: OnceCell<Arc<Sandbox>>,
}

impl ServerProcessSpawner {
    /// Processes write below `state_dir` and may read `expose`.
    pub(crate) fn new(state_dir: PathBuf, expose: Vec<PathBuf>) -> Self {
        let mut options = SandboxOptions::new(state_dir);
        options.expose = expose;
        Self { options, sandbox: OnceCell::new() }
    }

    async fn prepared_sandbox(&self) -> Result<&Arc<Sandbox>, SpawnError> {
        let prepared = self.sandbox.get_or_try_init(|| async {
            let options = self.options.clone();
            let sandbox = tokio::task::spawn_blocking(move || prepare_sandbox(options)).await;
            sandbox.map_err(|error| SpawnError::Unsupported(error.to_string()))?.map(Arc::new)
        });
        prepared.await
    }
}

fn prepare_sandbox(options: SandboxOptions) -> Result<Sandbox, SpawnError> {
    let words = |error: &dyn std::error::Error| SpawnError::Unsupported(error.to_string());
    let sandbox = Sandbox::prepare(options).map_err(|error| words(&error))?;
    sandbox.remove_interactive_dirs().map_err(|error| words(&error))?;
    let level = sandbox.level();
    if !level.supported {
        let reason = level.reason.clone().unwrap_or_else(|| "no sandbox is available".to_owned());
        return Err(SpawnError::Unsupported(reason));
    }
    Ok(sandbox)
}

#[async_trait]
impl ProcessSpawner for ServerProcessSpawner {
    async fn spawn(&self, launch: &ServerCommand) -> Result<ServerProcess, SpawnError> {
        let failed = |reason: String| SpawnError::NotStarted(reason);
        let owner = launch.server.to_string().parse();
        let mut argv = vec![launch.command.clone()];
        argv.extend(launch.args.iter().cloned());
        let program = InteractiveProgram {
            owner: owner.map_err(|_| failed("the server's id is invalid".to_owned()))?,
            argv,
            env: launch.env.clone(),
            network: launch.allow_network,
            limits: LIMITS,
        };
        let talk = self
            .prepared_sandbox()
            .await?
            .spawn_interactive(program)
            .map_err(|error| failed(error.to_string()))?;
        Ok(ServerProcess {
            stdin: Box::new(talk.stdin),
            stdout: Box::new(talk.stdout),
            stderr: Box::new(talk.stderr),
            handle: Box::new(SandboxedServerProcess(talk.control)),
        })
    }
}

struct SandboxedServerProcess(InteractiveControl);

#[async_trait]
impl ProcessHandle for SandboxedServerProcess {
    async fn wait_ended(&mut self) -> String {
        self.0.wait_ended().await
    }

    fn kill(&mut self) {
        self.0.stop();
    }
}
