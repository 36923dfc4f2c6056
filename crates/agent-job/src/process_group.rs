//! Child processes of an agent: their environment, their process group, and their exit codes.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use cynode_runtime::child_env::Allowlist;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::Child;

/// Variables that programs need besides those of every process: the sandbox sets them, none is secret.
const INHERITED: [&str; 20] = [
    "PATH",
    "HOME",
    "CYNODE_TASK_ID",
    "CYNODE_JOB_ID",
    "CYNODE_WORKSPACE_DIR",
    "CYNODE_ARTIFACTS_DIR",
    "CYNODE_MCP_URL",
    "OPENAI_BASE_URL",
    "OPENAI_API_BASE",
    "OPENAI_API_KEY",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_KEY",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "NODE_USE_ENV_PROXY",
    "TERM",
];

/// The variables that a program in the sandbox inherits.
pub fn inherited_variables() -> Allowlist {
    Allowlist::for_process().names(&INHERITED)
}

/// The process group of a child that leads it. Dropping it kills every process in it.
#[derive(Debug)]
pub struct ProcessGroup {
    leader: Option<Pid>,
}

impl ProcessGroup {
    /// The group of a child that was started with `process_group(0)`.
    pub fn led_by(child: &Child) -> Self {
        let leader = child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
        Self { leader }
    }

    /// Asks every process to end.
    pub fn terminate(&self) {
        if let Some(leader) = self.leader {
            // Fails if no process of the group is left.
            let _ = killpg(leader, Signal::SIGTERM);
        }
    }

    /// Kills every process.
    pub fn kill(mut self) {
        self.kill_once();
    }

    fn kill_once(&mut self) {
        if let Some(leader) = self.leader.take() {
            // Fails if no process of the group is left.
            let _ = killpg(leader, Signal::SIGKILL);
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill_once();
    }
}

/// The exit code as a shell reports it: 128 and the signal for a process that was killed.
pub fn exit_code(status: ExitStatus) -> i32 {
    status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(-1)
}

/// Describes how a process ended.
pub fn describe_exit(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("killed by signal {signal}"),
        None => format!("exit code {}", exit_code(status)),
    }
}
