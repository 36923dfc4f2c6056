//! Where the work of a task runs: what is asked and answered.

use cynode_domain::ids::JobId;
use cynode_domain::job::Limits;
use serde::{Deserialize, Serialize};

use super::DecisionRecord;

/// `POST /v1/handoff/place`: several nodes could take the first job of a task, and all others of it
/// will run where that one does.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceHandoff {
    /// The job.
    pub job_id: JobId,
    /// The bounds of each job of the task.
    pub limits: Limits,
    /// The nodes that can take it now, at least one, by name.
    pub candidates: Vec<NodeCandidate>,
}

/// A node that can take a job now.
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
    /// What its sandbox enforces, such as `landlock`.
    pub sandbox_features: Vec<String>,
    /// Jobs it has now.
    pub running_jobs: u32,
    /// How many more it would take.
    pub room: u32,
}

/// The answer to [`PlaceHandoff`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceAnswer {
    /// The name of the node.
    pub node_slug: String,
    /// Why, for people.
    pub reason: String,
    /// What was decided on the way.
    #[serde(default)]
    pub decisions: Vec<DecisionRecord>,
}
