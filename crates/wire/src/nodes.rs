//! The node API: how a worker node joins, asks for work and reports it.
//!
//! One long poll does three things: it shows that the node lives, renews the lease of every job
//! it lists, and brings new assignments and cancellations.
//!
//! A process of a node names its incarnation on every call, in the header [`INCARNATION_HEADER`]. A
//! node has at most one live incarnation, and only the incarnation that holds a job reports on it.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{IncarnationId, JobId, NodeId, RunId, TaskId};
use cynode_domain::job::{Action, Limits};
use cynode_domain::status::NodeStatus;
use serde::{Deserialize, Serialize};

use crate::jobs::Stream;

/// The header that names the incarnation of the calling node.
pub const INCARNATION_HEADER: &str = "x-cynode-incarnation";

/// `POST /v1/nodes/register`, with the join token as bearer.
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterNode {
    /// The node's name, unique in the installation.
    pub node_slug: String,
    /// What the node can do.
    pub capabilities: Capabilities,
    /// The process that registers.
    pub incarnation: Incarnation,
}

/// A process of a node, and the ones before it. Also the body of `POST /v1/node/start`, with which a
/// process that has the node's token begins.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Incarnation {
    /// This process.
    pub id: IncarnationId,
    /// Earlier processes on the same state directory whose jobs this one takes over, newest first;
    /// at most 32.
    pub succeeds: Vec<IncarnationId>,
    /// Whether those are known to have ended: this process holds the lock of their state directory,
    /// which is in the same place since the same boot of the machine.
    pub predecessors_ended: bool,
}

/// What a node can do.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Capabilities {
    /// The operating system, such as `linux`.
    pub os: String,
    /// The processor architecture, such as `x86_64`.
    pub arch: String,
    /// Processor cores.
    pub cpu_cores: u32,
    /// Memory, in MiB.
    pub memory_mib: u64,
    /// How jobs are isolated.
    pub sandbox: SandboxLevel,
    /// Jobs it runs at once.
    pub max_concurrency: u32,
}

/// How far a node can isolate a job, measured when it started.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxLevel {
    /// Whether jobs can run at all; a node that cannot isolate takes none.
    pub supported: bool,
    /// The backend, such as `namespaces`.
    pub backend: String,
    /// What is enforced, such as `pid_namespace`, `landlock`, `seccomp`.
    pub features: Vec<String>,
    /// Why it is not supported, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The answer to a registration.
#[derive(Clone, Deserialize, Serialize, utoipa::ToSchema)]
pub struct RegisteredView {
    /// The node's id; the same for the same slug.
    pub node_id: NodeId,
    /// The node's own token, for every later call. Earlier ones end.
    pub node_token: String,
}

/// `POST /v1/node/poll`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Poll {
    /// Every job the node has accepted and not yet delivered the result of.
    pub holding: Vec<JobId>,
    /// How many more jobs it would take.
    pub free_slots: u32,
    /// How long to wait for news, in milliseconds; at most 30000.
    pub wait_ms: u32,
}

/// The answer to a poll.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct PollView {
    /// Jobs given to this node, possibly for a second time: a node never starts one twice.
    pub assignments: Vec<Assignment>,
    /// Jobs of this node that are to stop.
    pub cancel: Vec<JobId>,
    /// Jobs the node holds that the orchestrator no longer waits for; their results would be refused.
    pub forget: Vec<JobId>,
}

/// A job given to a node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct Assignment {
    /// The job.
    pub job_id: JobId,
    /// The task it belongs to; jobs of one task share a workspace.
    pub task_id: TaskId,
    /// The run it belongs to.
    pub run_id: RunId,
    /// What runs.
    pub action: Action,
    /// Its bounds.
    pub limits: Limits,
    /// Names of attachments to place in the workspace before it starts.
    pub attachments: Vec<String>,
    /// The incarnation that the job is given to; no other one starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<IncarnationId>,
    /// Whether the task has run on this node before: without the workspace of then, the job must
    /// not start.
    #[serde(default)]
    pub needs_workspace: bool,
}

/// `POST /v1/node/workspaces`: which workspaces may be removed.
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AskWorkspaces {
    /// Tasks that the node has a workspace of; at most 1000.
    pub tasks: Vec<TaskId>,
    /// For how long a task must have been closed, in seconds.
    pub closed_for_s: u32,
}

/// Which workspaces a node may remove.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct WorkspacesView {
    /// Those of the tasks asked about that have been closed for that long.
    pub removable: Vec<TaskId>,
}

/// `POST /v1/node/jobs/{job}/logs`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AppendLog {
    /// Which stream.
    pub stream: Stream,
    /// Where in the stream the data begins, in bytes.
    pub offset: u64,
    /// The data, in standard base64.
    pub data_base64: String,
}

/// Where the next piece of a log is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct LogPosition {
    /// Bytes stored so far.
    pub next_offset: u64,
}

/// A worker node, as people see it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct NodeView {
    /// The node's id.
    pub id: NodeId,
    /// The node's name.
    pub node_slug: String,
    /// Where it stands.
    pub status: NodeStatus,
    /// What it can do.
    pub capabilities: Capabilities,
    /// Jobs it has now.
    pub running_jobs: i64,
    /// The process that works under its name; absent once that was stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<IncarnationId>,
    /// When it last polled.
    pub last_seen_at: Option<DateTime<Utc>>,
    /// When it first joined.
    pub created_at: DateTime<Utc>,
}
