//! Decisions of the project manager.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{DecisionId, ProjectId, RunId, TaskId, ThreadId, UserId};
use serde::{Deserialize, Serialize};

/// One decision of the project manager. Decisions of a run are in `runs`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct PastDecisionView {
    /// Its id.
    pub id: DecisionId,
    /// Timestamp.
    pub created_at: DateTime<Utc>,
    /// Handoff kind, such as `chat` or `plan`.
    pub handoff: String,
    /// Purpose of the decision.
    pub purpose: String,
    /// `rule`, `model` or `fallback`.
    pub decided_by: String,
    /// Choice and reason, in words.
    pub reason: String,
    /// Model that was called.
    pub model: Option<String>,
    /// Hash of the input, to find equal questions.
    pub input_hash: String,
    /// User.
    pub user: UserId,
    /// Project.
    pub project: Option<ProjectId>,
    /// Task.
    pub task: Option<TaskId>,
    /// Run.
    pub run: Option<RunId>,
    /// Thread.
    pub thread: Option<ThreadId>,
    /// Trace id, to find the work in the logs.
    pub trace_id: String,
}

/// Filters on decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DecisionQuery {
    /// Only decisions about this task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// Page size, 1 to 200; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next_cursor` of the previous page; absent for the first page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}
