//! Data exchanged between the node and the stages of a sandbox.

use std::collections::BTreeMap;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use cynode_domain::ids::TaskId;
use cynode_domain::image_name::HOST_IMAGE;
use cynode_domain::job::{Action, JobEnding, Limits};
use cynode_wire::jobs::Truncated;
use cynode_wire::nodes::Assignment;
use serde::{Deserialize, Serialize};

use crate::cgroup::JobCgroup;
use crate::request::SandboxCache;

/// First uid of the range reserved for jobs when the node is root.
const FIRST_UID: u32 = 2_000_000;
const UIDS: u128 = 1_000_000;

/// Everything needed to run a job: `spec.json` in the job directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobSpec {
    pub assignment: Assignment,
    /// Shared by all jobs of one task.
    pub workspace: PathBuf,
    pub isolation: Isolation,
    /// Host paths the job may read besides the system directories.
    pub expose: Vec<PathBuf>,
    /// The program that carries out actions of agents, where the node has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_program: Option<AgentProgram>,
    /// An interactive program to run instead of the assignment's action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactive: Option<InteractiveCommand>,
    /// Whether hooks and configuration of the workspace's repository are read-only, for a command that is no job of the
    /// orchestrator.
    #[serde(default)]
    pub protects_repository: bool,
    /// The cache that survives the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<SandboxCache>,
    /// The cgroup that limits the job, where the node has one for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cgroup: Option<JobCgroup>,
}

/// The image of a job: `image.json` in the job directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobImage {
    /// The directory of the unpacked image.
    pub path: PathBuf,
    /// Variables that the image declares.
    pub env: BTreeMap<String, String>,
}

/// The agent of a node, visible inside a sandbox at `/job/agent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentProgram {
    /// The executable on the node.
    pub path: PathBuf,
    /// Arguments before its own.
    pub args: Vec<String>,
}

impl JobSpec {
    /// Whether the job runs in an image, and not in the node's own system.
    pub fn has_image(&self) -> bool {
        self.assignment.image.as_deref().is_some_and(|image| image != HOST_IMAGE)
    }

    /// Whether the job is an agent's.
    pub fn is_agent(&self) -> bool {
        self.interactive.is_none() && matches!(self.assignment.action, Action::Agent { .. })
    }

    /// Whether the job tries an agent out.
    pub fn is_canary(&self) -> bool {
        self.is_agent() && self.assignment.agent.as_ref().is_some_and(|agent| agent.is_canary)
    }

    /// Whether the workspace is a checkout of a repository.
    pub fn has_repository(&self) -> bool {
        self.protects_repository || self.assignment.repository.is_some()
    }

    /// Whether the job's agent may connect to hosts, through the proxy. A canary run has the same environment, but its hosts are
    /// refused.
    pub fn has_hosts(&self) -> bool {
        self.is_agent()
            && self.assignment.agent.as_ref().is_some_and(|agent| !agent.hosts.is_empty())
    }

    /// Whether PID 1 listens at [`EGRESS_PORT`], and passes the listener out of the sandbox.
    pub fn has_egress(&self) -> bool {
        self.is_agent() || self.interactive.as_ref().is_some_and(|program| program.has_proxy)
    }
}

/// A program connected to a client over its standard streams.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InteractiveCommand {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Whether its connections go to a proxy, at [`EGRESS_PORT`].
    pub has_proxy: bool,
}

/// The port on the loopback interface of a sandbox whose connections leave it.
pub const EGRESS_PORT: u16 = 3128;

/// How a job is isolated from the user the node runs as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Isolation {
    /// The node is root: the job runs under its own uid, without a user namespace.
    OwnUser,
    /// The job runs in a user namespace where the node's user maps to root without capabilities.
    UserNamespace,
}

impl Isolation {
    /// The uid of jobs of `task`: one per task, because its jobs share a workspace.
    pub fn uid(self, task: TaskId) -> u32 {
        match self {
            Self::OwnUser => {
                let offset = u32::try_from(task.as_uuid().as_u128() % UIDS).unwrap_or_default();
                FIRST_UID + offset
            }
            Self::UserNamespace => 0,
        }
    }
}

/// The outcome of a job: `outcome.json` in the job directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxJobOutcome {
    pub ending: JobEnding,
    pub truncated: Truncated,
    /// When the supervisor started.
    pub started_at: DateTime<Utc>,
    pub ended_at: DateTime<Utc>,
    /// Isolation features that the sandbox enforced.
    pub features: Vec<String>,
}

/// Message of PID 1 to the supervisor, one JSON line each.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum InitReport {
    /// The listener of [`EGRESS_PORT`] is attached.
    EgressListening,
    /// The command runs, confined by these isolation features.
    Started { features: Vec<String> },
    /// The command has ended.
    Ended { ending: JobEnding },
}

/// Input of the `sandbox-exec` stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExecPlan {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The complete environment.
    pub env: Vec<(String, String)>,
    pub limits: Limits,
    /// The uid to change to; absent in a user namespace, which maps only one.
    pub uid: Option<u32>,
    /// An interactive program reads [`SANDBOX_STDIN`] and also gets the variables in [`DECLARED_ENV_VAR`].
    pub is_interactive: bool,
}

/// Path of an interactive program's standard input inside the sandbox.
pub(crate) const SANDBOX_STDIN: &str = "/job/stdin";
/// Environment variable that carries the program's declared variables through the stages, as JSON.
/// One variable, so that none of them affects the stages themselves; not a file or an argument, because
/// values may be secret.
pub(crate) const DECLARED_ENV_VAR: &str = "CYNODE_SANDBOX_DECLARED";

/// First message of the `sandbox-exec` stage: its program is loaded.
pub(crate) const STAGE_IS_READY: u8 = b's';
/// Message to the `sandbox-exec` stage: the root of the job is in place.
pub(crate) const ROOT_IS_BUILT: u8 = b'r';

/// Message of the `sandbox-exec` stage before it execs the command.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ConfinementReport {
    /// Confined by these features and about to exec.
    Enforced(Vec<String>),
    /// Confinement or exec failed, with the reason.
    Failed(String),
}

/// The limit of a job that used too much memory, whether the kernel or a sample found it.
pub(crate) fn memory_limit_text(memory_mib: u32) -> String {
    format!("it used more than {memory_mib} MiB of memory")
}

/// The limit of a job that started too many processes or threads.
pub(crate) fn process_limit_text(processes: u32) -> String {
    format!("it had more than {processes} processes")
}

/// Path of the agent's program inside the sandbox.
pub(crate) const SANDBOX_AGENT: &str = "/job/agent";
/// Path of the document of an agent's job inside the sandbox.
pub(crate) const SANDBOX_AGENT_JOB: &str = "/job/job.json";
/// Path of the agent's result inside the sandbox: the artifact [`AGENT_RESULT`].
pub(crate) const SANDBOX_AGENT_RESULT: &str = "/job/artifacts/agent-result.json";
/// Path of the agent's result below the artifacts.
pub const AGENT_RESULT: &str = "agent-result.json";
/// Path of the script inside the sandbox.
pub(crate) const SANDBOX_SCRIPT: &str = "/job/script";
/// Longer lines are passed as a file: the kernel rejects single arguments of 128 KiB.
const MAX_LINE: usize = 100_000;

/// Returns the text to write to [`SANDBOX_SCRIPT`], if any, and the program with its arguments.
pub(crate) fn build_argv<'a>(
    action: &'a Action,
    agent: Option<&AgentProgram>,
) -> (Option<&'a str>, Vec<String>) {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    match action {
        Action::Agent { .. } => {
            let leading = agent.map(|agent| agent.args.iter().map(String::as_str));
            let own = ["--job", SANDBOX_AGENT_JOB, "--result", SANDBOX_AGENT_RESULT];
            let all: Vec<&str> = [SANDBOX_AGENT]
                .into_iter()
                .chain(leading.into_iter().flatten())
                .chain(own)
                .collect();
            (None, words(&all))
        }
        Action::Command { line } if line.len() <= MAX_LINE => {
            (None, words(&["/bin/sh", "-c", line]))
        }
        Action::Script { text } if text.starts_with("#!") => (Some(text), words(&[SANDBOX_SCRIPT])),
        Action::Command { line: text } | Action::Script { text } => {
            (Some(text), words(&["/bin/sh", SANDBOX_SCRIPT]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_chooses_its_interpreter_and_long_lines_become_scripts() {
        let bash = Action::Script { text: "#!/bin/bash\n".to_owned() };
        let plain = Action::Script { text: "true".to_owned() };
        let long = Action::Command { line: format!("true {}", "x".repeat(MAX_LINE)) };

        assert_eq!(build_argv(&bash, None).1, [SANDBOX_SCRIPT]);
        assert_eq!(build_argv(&plain, None).1, ["/bin/sh", SANDBOX_SCRIPT]);
        assert_eq!(build_argv(&long, None).1, ["/bin/sh", SANDBOX_SCRIPT]);
    }

    #[test]
    fn jobs_of_one_task_share_an_id_outside_the_range_of_people() {
        let task = TaskId::generate();

        assert_eq!(Isolation::OwnUser.uid(task), Isolation::OwnUser.uid(task));
        assert!((FIRST_UID..FIRST_UID + 1_000_000).contains(&Isolation::OwnUser.uid(task)));
    }
}
