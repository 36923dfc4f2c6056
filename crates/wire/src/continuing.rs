//! How a runner hears what becomes of a run that stands still.

use cynode_domain::ids::JobId;
use serde::{Deserialize, Serialize};

use crate::handoff::ContinueWith;
use crate::workflow::Hold;

/// Why nobody decides in an installation without a project manager.
pub const NO_MANAGER: &str = "no project manager is configured";

/// `POST /v1/workflow/continue`: asks how a run goes on whose step was not accepted and has no attempt
/// left. Why it stands still is read from the job and its verdict. Asked again before it is answered, it
/// waits for the same answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ContinueRun {
    /// Proof of the right to write.
    pub hold: Hold,
    /// The job whose result was not accepted.
    pub job_id: JobId,
    /// How often the run went on already after it stood still.
    #[serde(default)]
    pub continued: u32,
    /// How long to wait for the answer, in milliseconds; at most 30000.
    #[serde(default)]
    pub wait_ms: u32,
}

/// How a run goes on, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ContinuationView {
    /// It is decided. A result that was not accepted is never taken as it is.
    Settled {
        /// How.
        with: ContinueWith,
        /// Why, for people, as a part of a sentence.
        reason: String,
    },
    /// Nobody decides: the step has failed.
    NoManager {
        /// Why, for people.
        reason: String,
    },
    /// Somebody still decides: ask again.
    Waiting {
        /// What is waited for, for people.
        waiting_for: String,
    },
}
