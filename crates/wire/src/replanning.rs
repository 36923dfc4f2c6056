//! How a runner requests another command for a step whose result was not accepted.

use cynode_domain::ids::JobId;
use cynode_domain::job::Action;
use serde::{Deserialize, Serialize};

use crate::workflow::LeaseToken;

/// `POST /v1/workflow/replan`: passes the findings about a step that was not accepted to the project manager, which
/// may plan another command for the next attempt. Findings are read from the database. Idempotent: a repeated call
/// waits for the same answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplanStep {
    /// Lease that authorises the write.
    #[serde(rename = "hold")]
    pub lease: LeaseToken,
    /// The job whose result was not accepted.
    pub job_id: JobId,
    /// Maximum wait for the decision, in milliseconds; at most 30000.
    #[serde(default)]
    pub wait_ms: u32,
}

/// Decision on the command of a step whose result was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ReplanView {
    /// The next attempt runs another command.
    Replanned {
        /// Action.
        action: Action,
        /// Reason, in words.
        reason: String,
        /// Whether a person must approve it first.
        needs_approval: bool,
    },
    /// The command is unchanged.
    Kept {
        /// Reason, as part of a sentence.
        reason: String,
    },
    /// Not decided yet: call again.
    Waiting {
        /// What is waited for, in words.
        waiting_for: String,
    },
}
