//! How a runner has a step planned anew whose result was not accepted.

use cynode_domain::ids::JobId;
use cynode_domain::job::Action;
use serde::{Deserialize, Serialize};

use crate::workflow::Hold;

/// `POST /v1/workflow/replan`: gives the findings about a step that was not accepted to the project
/// manager, which may plan another command for the next attempt. What was found is read from the
/// database. Asked again before it is answered, it waits for the same answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReplanStep {
    /// Proof of the right to write.
    pub hold: Hold,
    /// The job whose result was not accepted.
    pub job_id: JobId,
    /// How long to wait for the answer, in milliseconds; at most 30000.
    #[serde(default)]
    pub wait_ms: u32,
}

/// What becomes of the command of a step that was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ReplanView {
    /// The next attempt runs another command.
    Replanned {
        /// What it runs.
        action: Action,
        /// Why, for people.
        reason: String,
        /// Whether a person must agree first, because the task wants that of its plans.
        needs_approval: bool,
    },
    /// The command stays as it is.
    Kept {
        /// Why, for people, as a part of a sentence.
        reason: String,
    },
    /// The project manager still decides: ask again.
    Waiting {
        /// What is waited for, for people.
        waiting_for: String,
    },
}
