//! Capability leases: permissions that worker nodes verify without the orchestrator, and the audit records of calls under
//! them.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{CapabilityLeaseId, ChainId, JobId, NodeId, TaskId, UserId};
use cynode_domain::policy::Principal;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::tool_calls::{
    SandboxExec, SandboxGetFile, SandboxPutFile, SandboxStreamLogs, ToolCall as _,
};

/// The feature of a worker node that serves tools under leases.
pub const EDGE_FEATURE: &str = "edge";
/// The tools that a node serves under leases.
pub const EDGE_TOOLS: [&str; 4] =
    [SandboxExec::NAME, SandboxGetFile::NAME, SandboxPutFile::NAME, SandboxStreamLogs::NAME];
/// The start of the origin of a node's audit records, before its name.
pub const EDGE_ORIGIN_PREFIX: &str = "node:";
/// The most records in one request of a node.
pub const MAX_RECORDS: usize = 500;
/// The longest record that a node sends.
pub const MAX_RECORD_BYTES: usize = 16 * 1024;

/// A capability lease, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct CapabilityLeaseView {
    pub id: CapabilityLeaseId,
    /// The worker node that accepts it.
    pub node_id: NodeId,
    pub node_slug: String,
    /// The role of its caller.
    pub caller: Principal,
    pub user_id: UserId,
    pub task_id: TaskId,
    /// The sandbox that it is for.
    pub job_id: JobId,
    /// The tools that it permits.
    pub tools: BTreeSet<String>,
    pub issued_at: DateTime<Utc>,
    pub expires_at: DateTime<Utc>,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
    /// Why it was revoked.
    pub revoked_reason: Option<String>,
}

/// A new lease; the only response with its text.
#[derive(Clone, Deserialize, Serialize, utoipa::ToSchema)]
pub struct NewCapabilityLeaseView {
    #[serde(flatten)]
    pub lease: CapabilityLeaseView,
    /// The bearer token for the MCP server of the node. It is not stored.
    pub token: String,
}

/// The key that signs leases.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct LeaseKeyView {
    /// The start of the SHA-256 of the public key.
    pub id: String,
    /// 64 hexadecimal digits.
    pub public_key: String,
    pub created_at: DateTime<Utc>,
}

/// `POST /v1/node/edge`: new audit records of the node's MCP server, in order, possibly repeated.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SyncEdge {
    /// The chain of the records; created by its first record.
    pub chain: ChainId,
    /// At most 500.
    #[serde(default)]
    pub records: Vec<EdgeRecord>,
}

/// An audit record of a worker node.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EdgeRecord {
    /// Its position in the chain, from 1.
    pub seq: i64,
    /// Its hash, in hexadecimal digits, which covers all records before it.
    pub hash: String,
    /// A decision or an outcome, in the form of the audit log.
    pub record: Value,
}

/// What a node's MCP server needs to know, and what was stored of its records.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct EdgeView {
    /// The records up to this position are stored.
    pub stored_seq: i64,
    /// Why none of the records was stored: the node begins a new chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// Public keys whose leases the node accepts.
    pub keys: Vec<String>,
    /// Leases of the node that were revoked before their end.
    pub revoked: Vec<RevokedLease>,
}

/// A lease that ended early.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct RevokedLease {
    pub id: CapabilityLeaseId,
    /// After this the node may forget it.
    pub expires_at: DateTime<Utc>,
}
