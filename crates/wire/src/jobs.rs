//! Jobs: one step attempt each, run on a worker node.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{JobId, NodeId, TaskId};
use cynode_domain::job::JobEnding;
use cynode_domain::status::JobStatus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A job.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct JobView {
    /// The job's id.
    pub id: JobId,
    /// The task it belongs to.
    pub task_id: TaskId,
    /// The step of the plan, from 0.
    pub step_index: u32,
    /// The attempt at that step, from 1.
    pub attempt: u32,
    /// For a job that checks the result of that attempt: its number, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<u32>,
    /// For a command that the project manager ran in the task's workspace: its number, from 1. It
    /// belongs to no step; `step_index` and `attempt` are 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exec: Option<u32>,
    /// Status.
    pub status: JobStatus,
    /// Node it is assigned to.
    pub node_id: Option<NodeId>,
    /// Result, once ended.
    pub result: Option<JobResult>,
    /// Creation time.
    pub created_at: DateTime<Utc>,
    /// When its node accepted it.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
}

/// Result of a job.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct JobResult {
    /// How it ended.
    pub ending: JobEnding,
    /// The kept part of standard output; invalid UTF-8 is replaced.
    pub stdout: String,
    /// The kept part of standard error; invalid UTF-8 is replaced.
    pub stderr: String,
    /// Which streams were truncated.
    pub truncated: Truncated,
}

/// Which streams were truncated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Truncated {
    /// Standard output.
    pub stdout: bool,
    /// Standard error.
    pub stderr: bool,
}

/// One of the two output streams of a job.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

impl Stream {
    /// Both, stdout first.
    pub const ALL: [Self; 2] = [Self::Stdout, Self::Stderr];

    /// Name in the database, in JSON and as a file name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}
