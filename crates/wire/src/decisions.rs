//! What the project manager decided, and by what.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{DecisionId, ProjectId, RunId, TaskId, ThreadId, UserId};
use serde::{Deserialize, Serialize};

/// One decision of the project manager. (That of a run's job on a node is another: see runs.)
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct PastDecisionView {
    /// Its id.
    pub id: DecisionId,
    /// When.
    pub created_at: DateTime<Utc>,
    /// The kind of work that was handed over, such as `chat` or `plan`.
    pub handoff: String,
    /// What was decided, as a word.
    pub purpose: String,
    /// `rule`, `model` or `fallback`.
    pub decided_by: String,
    /// What was chosen and why, in words.
    pub reason: String,
    /// The model that was asked.
    pub model: Option<String>,
    /// A hash of what it rests on, to find the same question again.
    pub input_hash: String,
    /// For whom.
    pub user: UserId,
    /// About which project.
    pub project: Option<ProjectId>,
    /// About which task.
    pub task: Option<TaskId>,
    /// In which run.
    pub run: Option<RunId>,
    /// In which conversation.
    pub thread: Option<ThreadId>,
    /// Finds the work in the logs.
    pub trace_id: String,
}

/// Which decisions a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DecisionQuery {
    /// Those about this task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// How many items, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the page before; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}
