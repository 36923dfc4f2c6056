//! Findings of verifications.

use chrono::{DateTime, Utc};
use cynode_domain::finding::{FindingAuthor, FindingStatus, Severity};
use cynode_domain::ids::{FindingId, JobId, RunId, TaskId, TokenId, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest message and suggestion.
pub const MAX_TEXT_CHARS: usize = 4000;
/// The longest location.
pub const MAX_LOCATION_CHARS: usize = 500;
/// The highest step that a finding names.
pub const MAX_STEP_INDEX: u32 = 10_000;

/// A finding to store.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, JsonSchema, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateFinding {
    /// Finding status.
    pub status: FindingStatus,
    /// Severity.
    pub severity: Severity,
    /// Message.
    #[schemars(length(min = 1, max = MAX_TEXT_CHARS))]
    pub message: String,
    /// Location: a file, a line or a criterion.
    #[schemars(length(min = 1, max = MAX_LOCATION_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// Suggested fix.
    #[schemars(length(min = 1, max = MAX_TEXT_CHARS))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// The step of the plan that was verified, from 0.
    #[schemars(range(max = MAX_STEP_INDEX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_index: Option<u32>,
    /// The job whose result was verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<JobId>,
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct FindingView {
    /// The finding's id.
    pub id: FindingId,
    /// The task that was verified.
    pub task_id: TaskId,
    /// Its run at that time.
    pub run_id: Option<RunId>,
    /// The job whose result was verified.
    pub job_id: Option<JobId>,
    /// The step of the plan that was verified, from 0.
    pub step_index: Option<u32>,
    /// Finding status.
    pub status: FindingStatus,
    /// Severity.
    pub severity: Severity,
    /// Message.
    pub message: String,
    /// Location: a file, a line or a criterion.
    pub location: Option<String>,
    /// Suggested fix.
    pub suggestion: Option<String>,
    /// Author: a rule, an agent type, or a person.
    pub agent_type: FindingAuthor,
    /// Token of the author; null for rules and people.
    pub token_id: Option<TokenId>,
    /// The person who wrote it, or the user of the agent or task.
    pub user_id: UserId,
    /// Timestamp.
    pub created_at: DateTime<Utc>,
}
