//! What verifications found.

use chrono::{DateTime, Utc};
use cynode_domain::finding::{FindingAuthor, FindingStatus, Severity};
use cynode_domain::ids::{FindingId, JobId, RunId, TaskId, TokenId, UserId};
use serde::{Deserialize, Serialize};

/// A finding to be kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateFinding {
    /// What it says about the work.
    pub status: FindingStatus,
    /// How much it matters.
    pub severity: Severity,
    /// What was found.
    pub message: String,
    /// Where: a file, a line, a criterion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// The step of the plan that was verified, from 0.
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
    /// What it says about the work.
    pub status: FindingStatus,
    /// How much it matters.
    pub severity: Severity,
    /// What was found.
    pub message: String,
    /// Where: a file, a line, a criterion.
    pub location: Option<String>,
    /// What to do about it.
    pub suggestion: Option<String>,
    /// Who wrote it: a rule, an agent of some kind, or a person.
    pub agent_type: FindingAuthor,
    /// With which token; none for rules, and for answers of people.
    pub token_id: Option<TokenId>,
    /// The person who wrote it, or the user whom the agent or the task belongs to.
    pub user_id: UserId,
    /// When.
    pub created_at: DateTime<Utc>,
}
