//! The node API: registration, polling and results of worker nodes.
//!
//! One long poll is the heartbeat of the node, renews the lease of every job
//! it lists, and brings new assignments and cancellations.
//!
//! A process of a node names its incarnation on every call, in the header [`INCARNATION_HEADER`]. A
//! node has at most one live incarnation, and only the incarnation that holds a job reports on it.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use chrono::{DateTime, Utc};
use cynode_domain::git::PushOrder;
use cynode_domain::ids::{IncarnationId, JobId, NodeId, ProjectId, RunId, TaskId, TokenId};
use cynode_domain::job::{Action, Limits};
use cynode_domain::node_labels::NodeLabels;
use cynode_domain::status::NodeStatus;
use cynode_domain::trace::TraceContext;
use serde::{Deserialize, Serialize};

use crate::agent_profiles::AgentAssignment;
use crate::git::RepositoryAssignment;
use crate::jobs::Stream;

/// The header that names the incarnation of the calling node.
pub const INCARNATION_HEADER: &str = "x-cynode-incarnation";
/// The feature of a sandbox that runs agents.
pub const AGENTS_FEATURE: &str = "agents";
/// The longest name of a worker node in a request.
pub const MAX_NODE_NAME_CHARS: usize = 200;

/// `POST /v1/nodes/register`, with the join token as bearer.
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RegisterNode {
    /// The node's name, unique in the installation.
    pub node_slug: String,
    /// Capabilities of the node.
    pub capabilities: Capabilities,
    /// The process that registers.
    pub incarnation: Incarnation,
    /// Proof that the process has the node's key. The first registration binds the name to the key.
    pub proof: NodeKeyProof,
}

/// An Ed25519 signature of [`registration_message`] by the node's key, both in base64.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeKeyProof {
    /// The node's public key.
    pub public_key: String,
    /// The signature.
    pub signature: String,
}

/// What a node signs to register: it binds the name to this process.
pub fn registration_message(node_slug: &str, incarnation: IncarnationId) -> String {
    format!("cynode node registration\n{node_slug}\n{incarnation}\n")
}

/// `POST /v1/nodes/join-tokens`
#[derive(Debug, Clone, Default, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateJoinToken {
    /// The only node that may use it; any new node when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_slug: Option<String>,
    /// Lifetime in minutes, up to 10080; 60 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_in_minutes: Option<u32>,
}

/// A one-time join token without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct JoinTokenView {
    /// The token's id.
    pub id: TokenId,
    /// The only node that may use it; absent for any new node.
    pub node_slug: Option<String>,
    /// Creation time.
    pub created_at: DateTime<Utc>,
    /// Expiry time.
    pub expires_at: DateTime<Utc>,
    /// When a node used it.
    pub used_at: Option<DateTime<Utc>>,
    /// The node that used it.
    pub used_by: Option<NodeId>,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
}

/// A new join token; the only response with the secret.
#[derive(Clone, Deserialize, Serialize, utoipa::ToSchema)]
pub struct NewJoinTokenView {
    /// The token without its secret.
    #[serde(flatten)]
    pub token: JoinTokenView,
    /// The secret. It is not stored and cannot be shown again.
    pub secret: String,
}

/// A process of a node and its predecessors. Also the body of `POST /v1/node/start`, sent by a process that
/// already has the node's token.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Incarnation {
    /// This process.
    pub id: IncarnationId,
    /// Earlier processes on the same state directory whose jobs this one adopts, newest first; at most 32.
    pub succeeds: Vec<IncarnationId>,
    /// Whether they have certainly exited: this process holds the lock of their state directory, at the same path
    /// and in the same boot of the machine.
    pub predecessors_ended: bool,
}

/// Capabilities of a node.
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
    /// Maximum concurrent jobs.
    pub max_concurrency: u32,
    /// The version of the node; empty for one that does not state it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Labels that tasks choose nodes by. Every node also has `os` and `arch`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: NodeLabels,
    /// Images that jobs can run in, besides `host`, which every node has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
}

/// Sandbox capabilities, measured at start.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SandboxLevel {
    /// Whether jobs can run; a node without isolation accepts none.
    pub supported: bool,
    /// The backend, such as `namespaces`.
    pub backend: String,
    /// Enforced features, such as `pid_namespace`, `landlock`, `seccomp`.
    pub features: Vec<String>,
    /// Why it is not supported; if it is, which limits of cgroups are not enforced, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Response to a registration.
#[derive(Clone, Deserialize, Serialize, utoipa::ToSchema)]
pub struct RegisteredView {
    /// The node's id; the same for the same key and slug.
    pub node_id: NodeId,
    /// Node token for later calls. Earlier ones are revoked.
    pub node_token: String,
}

/// `POST /v1/node/poll`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Poll {
    /// Accepted jobs without a delivered result.
    pub holding: Vec<JobId>,
    /// Number of free slots.
    pub free_slots: u32,
    /// Maximum wait, in milliseconds; at most 30000.
    pub wait_ms: u32,
    /// Load of the machine; nodes of older versions send none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<MachineLoad>,
    /// Settings of the node that changed while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<NodeSettings>,
}

/// The settings that a running node can change.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeSettings {
    /// Maximum concurrent jobs.
    pub max_concurrency: u32,
    /// Labels by which tasks choose the node.
    #[serde(default)]
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub labels: NodeLabels,
}

/// The load of a worker node's machine. What the node cannot read is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(default)]
pub struct MachineLoad {
    /// Free disk of the state directory, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_disk_mib: Option<u64>,
    /// Memory that new processes can use, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_memory_mib: Option<u64>,
    /// Load average of the last minute, in hundredths: 100 is one busy processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_average_percent: Option<u32>,
    /// Whether the orchestrator assigns no jobs to the node because its disk is full.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_disk_short: bool,
}

/// Response to a poll.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct PollView {
    /// Jobs assigned to this node, possibly repeated: a node never starts a job twice.
    pub assignments: Vec<Assignment>,
    /// Jobs to cancel.
    pub cancel: Vec<JobId>,
    /// Held jobs whose results the orchestrator would reject.
    pub forget: Vec<JobId>,
}

/// A job assigned to a node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct Assignment {
    /// The job.
    pub job_id: JobId,
    /// The task it belongs to; jobs of one task share a workspace.
    pub task_id: TaskId,
    /// The run it belongs to.
    pub run_id: RunId,
    /// Action to run.
    pub action: Action,
    /// Limits.
    pub limits: Limits,
    /// Names of attachments to place in the workspace before it starts.
    pub attachments: Vec<String>,
    /// The repository to check out into the workspace before it starts, and to collect changes from after it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<RepositoryAssignment>,
    /// A push that the node executes instead of the action, outside of any sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push: Option<PushOrder>,
    /// The agent that carries out the action, if it is not the built-in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentAssignment>,
    /// The image that the job runs in; `host` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// The cache that the job may use, which survives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<CacheAssignment>,
    /// The trace that the job belongs to; absent for jobs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceContext>,
    /// Incarnation that the job is assigned to; no other one starts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<IncarnationId>,
    /// Whether the job needs the existing workspace of the task: without it, the job must not start.
    #[serde(default)]
    pub needs_workspace: bool,
}

impl Assignment {
    /// A job of an action alone, with default limits.
    pub fn new(job_id: JobId, task_id: TaskId, run_id: RunId, action: Action) -> Self {
        Self {
            job_id,
            task_id,
            run_id,
            action,
            limits: Limits::default(),
            attachments: vec![],
            repository: None,
            push: None,
            agent: None,
            image: None,
            cache: None,
            trace: None,
            incarnation: None,
            needs_workspace: false,
        }
    }
}

/// The cache of a job. Jobs with the same key may share files.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct CacheAssignment {
    /// The caches of a project share its quota.
    pub project: ProjectId,
    /// 64 hexadecimal digits.
    pub key: String,
    /// MiB that the caches of the project may fill on this node.
    pub quota_mib: u32,
}

/// Response to `POST /v1/node/jobs/{job}/agent-token`: the token with which the node calls models and tools for the agent
/// of the job. It never enters the sandbox.
#[derive(Clone, Deserialize, Serialize, utoipa::ToSchema)]
pub struct JobAgentToken {
    /// The secret. It is not stored and cannot be shown again.
    pub secret: String,
    /// When it expires; it is revoked when the job ends.
    pub expires_at: DateTime<Utc>,
}

/// `POST /v1/node/jobs/{job}/connections`: an event of a connection that the job's agent makes to a host through the node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordConnection {
    /// Host and port, such as `api.example.com:443`.
    pub target: String,
    pub event: JobConnectionEvent,
}

/// What happened to a connection of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum JobConnectionEvent {
    /// It is about to be made. The node makes it only if this was recorded.
    Opened {
        #[schema(value_type = String)]
        address: SocketAddr,
    },
    Refused {
        reason: String,
    },
    /// It has ended. Bytes are counted at the connection to the host.
    Closed {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        sent: u64,
        received: u64,
        open_for_ms: u64,
    },
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

/// Workspaces that a node may remove.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct WorkspacesView {
    /// Tasks of the request that have been closed for that long.
    pub removable: Vec<TaskId>,
}

/// `POST /v1/node/jobs/{job}/logs`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AppendLog {
    /// Stream.
    pub stream: Stream,
    /// Offset of the data in the stream, in bytes.
    pub offset: u64,
    /// The data, in standard base64.
    pub data_base64: String,
}

/// Expected offset of the next log chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct LogPosition {
    /// Bytes stored so far.
    pub next_offset: u64,
}

/// A worker node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct NodeView {
    /// The node's id.
    pub id: NodeId,
    /// The node's name.
    pub node_slug: String,
    /// Status.
    pub status: NodeStatus,
    /// Capabilities.
    pub capabilities: Capabilities,
    /// Running jobs.
    pub running_jobs: i64,
    /// Load of its machine as of the last poll; absent for nodes of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<MachineLoad>,
    /// Incarnation that holds its name; absent after it has stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<IncarnationId>,
    /// When it last polled.
    pub last_seen_at: Option<DateTime<Utc>>,
    /// When it first joined.
    pub created_at: DateTime<Utc>,
}
