//! Runs the program of a job: the job in, a result out.

use std::path::PathBuf;
use std::time::Duration;

use cynode_agent_job::OpenJob;
use cynode_agent_job::stop::{JobEnd, STOPPED_ON_REQUEST};
use cynode_runtime::shutdown::Shutdown;
use cynode_wire::agent_jobs::{AgentConstraints, AgentJobResult, AgentProgramSpec, StopCondition};
use tokio::time::Instant;

use crate::acp_session::run_acp_program;
use crate::command_program::run_command_program;

/// The surroundings of a program.
#[derive(Debug, Clone, Default)]
pub struct ProgramOptions {
    /// The MCP server that an agent is told to start; absent without tools.
    pub mcp_bridge: Option<McpBridgeCommand>,
    pub timeouts: ProgramTimeouts,
}

/// A command that starts [`mcp_bridge`](crate::mcp_bridge).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct McpBridgeCommand {
    pub program: PathBuf,
    pub args: Vec<String>,
    /// Variables that the bridge needs; an agent need not pass on its own.
    pub env: Vec<(String, String)>,
}

/// How long a program may take for what is not its work.
#[derive(Debug, Clone, Copy)]
pub struct ProgramTimeouts {
    /// Until a session is open: each request on the way.
    pub handshake: Duration,
    /// From the request to cancel to the end of the turn.
    pub cancel: Duration,
    /// From the end of its input, or SIGTERM, to its exit.
    pub exit: Duration,
}

impl Default for ProgramTimeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_mins(2),
            cancel: Duration::from_secs(3),
            exit: Duration::from_secs(2),
        }
    }
}

/// Runs the program of the job and returns the job's result. Never fails: each fault is a stop condition.
///
/// When `shutdown` is triggered or the time is used, an agent is asked to cancel; then the program is ended with every
/// process of its group.
pub async fn run_program(
    mut job: OpenJob,
    options: &ProgramOptions,
    shutdown: &Shutdown,
) -> AgentJobResult {
    let interruption = Interruption::start(job.spec().constraints, shutdown);
    let end = match job.program().cloned() {
        Some(program @ AgentProgramSpec::Acp { .. }) => {
            run_acp_program(&mut job, &program, options, &interruption).await
        }
        Some(AgentProgramSpec::Command { command, env }) => {
            run_command_program(&mut job, &command, &env, options, &interruption).await
        }
        None => JobEnd::unmet(StopCondition::InvalidSpec, "the job names no program"),
    };
    job.close(&end).await
}

/// What ends a job from outside of its program.
pub(crate) struct Interruption<'a> {
    shutdown: &'a Shutdown,
    deadline: Instant,
    max_runtime_seconds: u32,
}

impl<'a> Interruption<'a> {
    /// The time starts now.
    fn start(constraints: AgentConstraints, shutdown: &'a Shutdown) -> Self {
        let max_runtime_seconds = constraints.max_runtime_seconds;
        let deadline = Instant::now() + Duration::from_secs(max_runtime_seconds.into());
        Self { shutdown, deadline, max_runtime_seconds }
    }

    /// Waits for the interruption; returns the end of the job.
    pub(crate) async fn wait(&self) -> JobEnd {
        tokio::select! {
            biased;
            () = self.shutdown.triggered() => {
                JobEnd::unmet(StopCondition::GaveUp, STOPPED_ON_REQUEST)
            }
            () = tokio::time::sleep_until(self.deadline) => {
                let seconds = self.max_runtime_seconds;
                JobEnd::unmet(StopCondition::Time, format!("all {seconds} seconds are used"))
            }
        }
    }
}
