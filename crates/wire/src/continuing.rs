//! How a runner requests a decision on a blocked run.

use cynode_domain::ids::JobId;
use serde::{Deserialize, Serialize};

use crate::handoff::ContinueWith;
use crate::workflow::LeaseToken;

/// Reason in an installation without a project manager.
pub const NO_MANAGER: &str = "no project manager is configured";

/// `POST /v1/workflow/continue`: requests a decision on a run whose step was not accepted and has no attempt left.
/// The reason is read from the job and its verdict. Idempotent: a repeated call waits for the same decision.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ContinueRun {
    /// Lease that authorises the write.
    #[serde(rename = "hold")]
    pub lease: LeaseToken,
    /// The job whose result was not accepted.
    pub job_id: JobId,
    /// How often the run was continued before.
    #[serde(default)]
    pub continued: u32,
    /// Maximum wait for the decision, in milliseconds; at most 30000.
    #[serde(default)]
    pub wait_ms: u32,
}

/// Decision on a blocked run, if made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ContinuationView {
    /// Decided. A result that was not accepted is never accepted as it is.
    Settled {
        /// How.
        with: ContinueWith,
        /// Reason, as part of a sentence.
        reason: String,
    },
    /// There is no project manager, and the step was not interrupted: it has failed.
    NoManager {
        /// Reason, in words.
        reason: String,
    },
    /// Not decided yet: call again.
    Waiting {
        /// What is waited for, in words.
        waiting_for: String,
    },
}
