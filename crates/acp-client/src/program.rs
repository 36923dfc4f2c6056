//! Runs the program of a job: the job in, a result out.

use std::path::PathBuf;
use std::time::Duration;

use cynode_agent_job::OpenJob;
use cynode_agent_job::instruction_feed::{InstructionFeed, POLL_INTERVAL};
use cynode_agent_job::stop::{JobEnd, STOPPED_ON_REQUEST};
use cynode_runtime::shutdown::Shutdown;
use cynode_wire::agent_jobs::{AgentConstraints, AgentJobResult, AgentProgramSpec, StopCondition};
use tokio::time::Instant;

use crate::acp_session::run_acp_program;
use crate::command_program::run_command_program;
use crate::prompt::render_prompt;

/// The surroundings of a program.
#[derive(Debug, Clone, Default)]
pub struct ProgramOptions {
    /// The MCP server that an agent is instructed to start; absent without tools.
    pub mcp_bridge: Option<McpBridgeCommand>,
    /// Address of the MCP server, for instructions of the project manager; absent without tools.
    pub mcp_url: Option<String>,
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

impl ProgramTimeouts {
    /// The same, but short enough to write the result between SIGTERM and SIGKILL of the node.
    fn hurried(self) -> Self {
        Self {
            cancel: self.cancel.min(Duration::from_millis(600)),
            exit: self.exit.min(Duration::from_millis(300)),
            ..self
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
    let url = options.mcp_url.as_deref();
    let mut run = ProgramRun {
        options,
        feed: url.and_then(|url| InstructionFeed::new(url, job.spec().task_id, POLL_INTERVAL)),
        interruption: Interruption::start(job.spec().constraints, shutdown),
        prompt: render_prompt(job.spec()),
        observed: ProgramObservations::default(),
    };
    let end = run_once(&mut job, &mut run).await;
    job.close(&end).await
}

/// One run of a program: its prompt, what may interrupt it, and what was seen of it.
pub(crate) struct ProgramRun<'a> {
    pub(crate) options: &'a ProgramOptions,
    /// Absent in canary runs, and without tools.
    pub(crate) feed: Option<InstructionFeed>,
    pub(crate) interruption: Interruption<'a>,
    pub(crate) prompt: String,
    pub(crate) observed: ProgramObservations,
}

/// What was seen of a program besides its work.
#[derive(Debug, Default)]
pub(crate) struct ProgramObservations {
    /// Name and version as the program states them.
    pub(crate) agent: Option<String>,
    /// Whether the program was started and has its prompt.
    pub(crate) has_prompt: bool,
    /// Whether the program ended its turn when it was asked to cancel; absent if it was not asked.
    pub(crate) is_cancelled: Option<bool>,
    /// Whether the program was killed because it did not end.
    pub(crate) is_killed: bool,
}

/// Runs the program of the job once.
pub(crate) async fn run_once(job: &mut OpenJob, run: &mut ProgramRun<'_>) -> JobEnd {
    match job.program().cloned() {
        Some(program @ AgentProgramSpec::Acp { .. }) => run_acp_program(job, &program, run).await,
        Some(AgentProgramSpec::Command { command, env }) => {
            run_command_program(job, &command, &env, run).await
        }
        None => JobEnd::unmet(StopCondition::InvalidSpec, "the job names no program"),
    }
}

/// What ends a job from outside of its program.
pub(crate) struct Interruption<'a> {
    shutdown: &'a Shutdown,
    deadline: Instant,
    max_runtime_seconds: u32,
    /// Whether this process is killed soon after `shutdown`.
    is_followed_by_kill: bool,
}

impl<'a> Interruption<'a> {
    /// The time starts now.
    fn start(constraints: AgentConstraints, shutdown: &'a Shutdown) -> Self {
        let interruption = Self::after_seconds(constraints.max_runtime_seconds, shutdown);
        Self { is_followed_by_kill: true, ..interruption }
    }

    /// The time starts now.
    pub(crate) fn after_seconds(max_runtime_seconds: u32, shutdown: &'a Shutdown) -> Self {
        let deadline = Instant::now() + Duration::from_secs(max_runtime_seconds.into());
        Self { shutdown, deadline, max_runtime_seconds, is_followed_by_kill: false }
    }

    /// The time that is left to a program.
    pub(crate) fn limit_timeouts(&self, timeouts: ProgramTimeouts) -> ProgramTimeouts {
        let is_hurried = self.is_followed_by_kill && self.shutdown.is_triggered();
        if is_hurried { timeouts.hurried() } else { timeouts }
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
