//! Installed servers that are processes, in the sandboxes that jobs run in.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use cynode_domain::job::Limits;
use cynode_gateway::upstream::{Launch, Process, ProcessHandle, SpawnError, SpawnSandboxed};
use cynode_worker::sandbox::{Control, Program, Sandbox, SandboxOptions};
use tokio::sync::OnceCell;

/// Bounds of each process, with all it starts.
const LIMITS: Limits = Limits {
    // Not enforced: a server lives for as long as it is installed.
    timeout_s: 0,
    memory_mib: 1024,
    processes: 256,
    output_bytes: 0,
    disk_mib: 1024,
};

/// Starts processes. The sandbox is prepared when the first one is wanted.
pub(crate) struct Processes {
    options: SandboxOptions,
    sandbox: OnceCell<Arc<Sandbox>>,
}

impl Processes {
    /// Processes that keep what they write below `state_dir` and may read `expose`.
    pub(crate) fn new(state_dir: PathBuf, expose: Vec<PathBuf>) -> Self {
        let mut options = SandboxOptions::new(state_dir);
        options.expose = expose;
        Self { options, sandbox: OnceCell::new() }
    }

    async fn sandbox(&self) -> Result<&Arc<Sandbox>, SpawnError> {
        let prepared = self.sandbox.get_or_try_init(|| async {
            let options = self.options.clone();
            let sandbox = tokio::task::spawn_blocking(move || prepare(options)).await;
            sandbox.map_err(|error| SpawnError::NotHere(error.to_string()))?.map(Arc::new)
        });
        prepared.await
    }
}

fn prepare(options: SandboxOptions) -> Result<Sandbox, SpawnError> {
    let words = |error: &dyn std::error::Error| SpawnError::NotHere(error.to_string());
    let sandbox = Sandbox::prepare(options).map_err(|error| words(&error))?;
    sandbox.sweep_talks().map_err(|error| words(&error))?;
    let level = sandbox.level();
    if !level.supported {
        let reason = level.reason.clone().unwrap_or_else(|| "there is no sandbox".to_owned());
        return Err(SpawnError::NotHere(reason));
    }
    Ok(sandbox)
}

#[async_trait]
impl SpawnSandboxed for Processes {
    async fn spawn(&self, launch: &Launch) -> Result<Process, SpawnError> {
        let failed = |reason: String| SpawnError::NotStarted(reason);
        let owner = launch.server.to_string().parse();
        let mut argv = vec![launch.command.clone()];
        argv.extend(launch.args.iter().cloned());
        let program = Program {
            owner: owner.map_err(|_| failed("the server's id cannot be used".to_owned()))?,
            argv,
            env: launch.env.clone(),
            network: launch.allow_network,
            limits: LIMITS,
        };
        let talk =
            self.sandbox().await?.talk(program).map_err(|error| failed(error.to_string()))?;
        Ok(Process {
            stdin: Box::new(talk.stdin),
            stdout: Box::new(talk.stdout),
            stderr: Box::new(talk.stderr),
            handle: Box::new(Running(talk.control)),
        })
    }
}

struct Running(Control);

#[async_trait]
impl ProcessHandle for Running {
    async fn ended(&mut self) -> String {
        self.0.ended().await
    }

    fn kill(&mut self) {
        self.0.stop();
    }
}
