//! Who judges the result of a step.
//!
//! Start at [`Analyst`]: the seam behind `POST /v1/workflow/verify`. What stands behind it is not known
//! to the graph: today [`RuleAnalyst`], which needs no model; an analyst that the project manager sets
//! to work comes in here, and answers [`Opinion::Later`] while it looks.

use async_trait::async_trait;
use cynode_domain::criteria::{Criterion, Evidence, judge, next_check};
use cynode_domain::ids::{JobId, RunId, TaskId, UserId};
use cynode_domain::verdict::Verdict;
use cynode_domain::verification::VerificationKey;
use tokio::task::spawn_blocking;

/// A step's result that is to be judged, as the database knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The task.
    pub task: TaskId,
    /// Whose task it is.
    pub user: UserId,
    /// The run.
    pub run: RunId,
    /// The job that ended.
    pub job: JobId,
    /// The step of the plan, from 0.
    pub step_index: u32,
    /// The attempt at that step, from 1.
    pub attempt: u32,
    /// How often a person asked for it to be judged again.
    pub round: u32,
    /// What is known of the result, with every check that was run so far.
    pub evidence: Evidence,
    /// Artifact paths the step owed.
    pub owed: Vec<String>,
    /// What must be true: the criteria of the step and, for the last step, those of the task.
    pub criteria: Vec<Criterion>,
}

impl Case {
    /// The verification that findings about the case carry.
    pub fn verification(&self) -> VerificationKey {
        VerificationKey { run: self.run, job: self.job, round: self.round }
    }
}

/// What an analyst says of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opinion {
    /// Whether the step is accepted, and why.
    Verdict(Verdict),
    /// This command has to be run first, in a sandbox of its own in the task's workspace. How it ended
    /// comes with the case when the analyst is asked again.
    Check {
        /// The line for `/bin/sh -c`.
        command: String,
    },
    /// Somebody still looks: ask again.
    Later {
        /// What is waited for, for people.
        waiting_for: String,
    },
}

/// Why there is no opinion.
#[derive(Debug, thiserror::Error)]
pub enum AnalystError {
    /// Nobody could be asked; somebody may be there later.
    #[error("no analyst can be asked: {0}")]
    Away(String),
    /// It failed.
    #[error("the judgement failed")]
    Failed(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// Judges results of steps.
///
/// It may be asked for the same case more than once, by several processes: the first verdict that is
/// written down counts.
#[async_trait]
pub trait Analyst: Send + Sync {
    /// What it says of a case.
    async fn examine(&self, case: &Case) -> Result<Opinion, AnalystError>;
}

/// Judges by rule alone: exit codes, owed outputs, and criteria that a rule can check. Prose is
/// carried as unchecked and never counts as met.
#[derive(Debug, Clone, Copy, Default)]
pub struct RuleAnalyst;

#[async_trait]
impl Analyst for RuleAnalyst {
    async fn examine(&self, case: &Case) -> Result<Opinion, AnalystError> {
        let case = case.clone();
        // Expressions come from users and may be slow: other requests do not wait for them.
        let judged = spawn_blocking(move || by_rule(&case)).await;
        judged.map_err(|error| AnalystError::Failed(Box::new(error)))
    }
}

fn by_rule(case: &Case) -> Opinion {
    let Case { evidence, owed, criteria, .. } = case;
    match next_check(evidence, owed, criteria) {
        Some(command) => Opinion::Check { command: command.to_owned() },
        None => Opinion::Verdict(judge(evidence, owed, criteria)),
    }
}
