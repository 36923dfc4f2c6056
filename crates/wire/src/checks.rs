//! Checks of a task's commands.

use cynode_domain::ids::JobId;
use cynode_domain::status::JobStatus;
use cynode_domain::verification::{CheckResult, Judge};
use serde::{Deserialize, Serialize};

/// A command that was run for a step, also one that a model wrote, with the checks that were applied to it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct StepChecksView {
    /// The step of the plan, from 0.
    pub step_index: u32,
    /// The newest attempt at that step, from 1.
    pub attempt: u32,
    /// The job of that attempt.
    pub job_id: JobId,
    /// The command line, or the text of the script.
    pub command: String,
    /// Status of the job.
    pub status: JobStatus,
    /// Applied checks, in order. Empty until the result is judged.
    pub checks: Vec<CheckView>,
}

/// One check of a step's result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct CheckView {
    /// Check: `exit_code`, `file_exists`, `output_matches`, `command_succeeds`, or `text` for a criterion in prose.
    pub check: String,
    /// Outcome.
    pub result: CheckResult,
    /// Judge; absent for a criterion that was not judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged_by: Option<Judge>,
    /// Finding in one sentence, or why it was not judged.
    pub message: String,
}
