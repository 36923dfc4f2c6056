//! Judging the result of a step.
//!
//! [`Analyst`] is the interface behind `POST /v1/workflow/verify`; the graph does not know its implementation.
//! [`RuleAnalyst`] needs no model; an analyst that the project manager starts returns [`AnalystOpinion::Pending`] until it
//! has findings.

use async_trait::async_trait;
use cynode_domain::criteria::{Criterion, Evidence, evaluate_step, next_check};
use cynode_domain::ids::{JobId, RunId, TaskId, UserId};
use cynode_domain::verdict::Verdict;
use cynode_domain::verification::VerificationKey;
use tokio::task::spawn_blocking;

/// The result of a step to be judged, loaded from the database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerificationCase {
    pub task: TaskId,
    /// The owner of the task.
    pub user: UserId,
    pub run: RunId,
    pub job: JobId,
    /// From 0.
    pub step_index: u32,
    /// From 1.
    pub attempt: u32,
    /// How often a person requested another verification.
    pub round: u32,
    /// The result, with every check that was run so far.
    pub evidence: Evidence,
    /// Artifact paths that the step must produce.
    pub expected_outputs: Vec<String>,
    /// The criteria of the step and, for the last step, those of the task.
    pub criteria: Vec<Criterion>,
}

impl VerificationCase {
    /// The key under which findings about the case are recorded.
    pub fn verification(&self) -> VerificationKey {
        VerificationKey { run: self.run, job: self.job, round: self.round }
    }
}

/// The opinion of an analyst about a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnalystOpinion {
    Verdict(Verdict),
    /// The command must run first, in its own sandbox in the task's workspace. Its result is part of the evidence
    /// in the next call.
    NeedsCheck {
        /// The line for `/bin/sh -c`.
        command: String,
    },
    /// The verification is still in progress: call again.
    Pending {
        /// Shown to people.
        waiting_for: String,
    },
}

/// Why an analyst returned no opinion.
#[derive(Debug, thiserror::Error)]
pub enum AnalystError {
    /// No analyst is available; a later call may succeed.
    #[error("no analyst is available: {0}")]
    Unavailable(String),
    #[error("verification failed")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Judges results of steps.
///
/// It may be called for the same case more than once, by several processes: the first verdict that is committed
/// counts.
#[async_trait]
pub trait Analyst: Send + Sync {
    /// Returns the opinion about a case.
    async fn examine(&self, case: &VerificationCase) -> Result<AnalystOpinion, AnalystError>;
}

/// Judges by rule alone: exit codes, expected outputs, and criteria that a rule can check. Prose criteria are reported
/// as unchecked and never count as met.
#[derive(Debug, Clone, Copy, Default)]
pub struct RuleAnalyst;

#[async_trait]
impl Analyst for RuleAnalyst {
    async fn examine(&self, case: &VerificationCase) -> Result<AnalystOpinion, AnalystError> {
        let case = case.clone();
        // Regular expressions come from users and may be slow: they must not block the async runtime.
        let judged = spawn_blocking(move || judge_by_rule(&case)).await;
        judged.map_err(|error| AnalystError::Failed(Box::new(error)))
    }
}

fn judge_by_rule(case: &VerificationCase) -> AnalystOpinion {
    let VerificationCase { evidence, expected_outputs: owed, criteria, .. } = case;
    match next_check(evidence, owed, criteria) {
        Some(command) => AnalystOpinion::NeedsCheck { command: command.to_owned() },
        None => AnalystOpinion::Verdict(evaluate_step(evidence, owed, criteria)),
    }
}
