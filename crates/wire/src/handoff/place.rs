//! Handoff that chooses the worker node of a task.

use cynode_domain::ids::JobId;
use cynode_domain::job::Limits;
use serde::{Deserialize, Serialize};

use super::DecisionRecord;

/// `POST /v1/handoff/place`: chooses one of several nodes for the first job of a task; its other jobs run on the
/// same node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceHandoff {
    /// The job.
    pub job_id: JobId,
    /// Limits of each job.
    pub limits: Limits,
    /// Available nodes, at least one, ordered by name.
    pub candidates: Vec<NodeCandidate>,
}

/// An available node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NodeCandidate {
    /// Its name.
    pub node_slug: String,
    /// Its operating system, such as `linux`.
    pub os: String,
    /// Its processor architecture, such as `x86_64`.
    pub arch: String,
    /// Its processor cores.
    pub cpu_cores: u32,
    /// Its memory, in MiB.
    pub memory_mib: u64,
    /// Features its sandbox enforces, such as `landlock`.
    pub sandbox_features: Vec<String>,
    /// Running jobs.
    pub running_jobs: u32,
    /// Free slots.
    pub room: u32,
}

/// The answer to [`PlaceHandoff`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceAnswer {
    /// The name of the node.
    pub node_slug: String,
    /// Reason, in words.
    pub reason: String,
    /// Decisions made.
    #[serde(default)]
    pub decisions: Vec<DecisionRecord>,
}
