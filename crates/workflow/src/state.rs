//! The state of a run: everything a runner needs to go on from a checkpoint.
//!
//! It is stored as JSON with every transition and read by other versions of this program, so
//! fields are added with a default and never renamed.

mod changes;
mod shared;
mod tally;

use std::collections::BTreeMap;

use cynode_domain::criteria::Criterion;
use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::job::{Action, Ending, Limits};
use cynode_domain::plan::{InputMode, Plan, Step, StepCriterion};
use cynode_domain::run_policy::RunPolicy;
use cynode_domain::status::JobStatus;
use cynode_domain::verdict::Verdict;
use cynode_wire::workflow::Finish;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::changes::Mark;
pub use self::shared::{Attempts, Shared};
pub use self::tally::Tally;
use crate::engine::ErrorClass;
use crate::graph::GRAPH_VERSION;

/// What must be true of the result.
pub type Criteria = Shared<Vec<Criterion>>;
/// Preferences, by key.
pub type Preferences = Shared<BTreeMap<String, Value>>;

/// The state of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunState {
    /// The version of the graph that wrote this state.
    pub graph_version: u32,
    /// The task.
    pub task_id: TaskId,
    /// What must be true of the result.
    #[serde(default)]
    pub acceptance_criteria: Criteria,
    /// Preferences in effect when the run began, by key.
    #[serde(default)]
    pub preferences_effective: Preferences,
    /// The steps, and what was assumed in making them.
    #[serde(default)]
    pub plan: Shared<Plan>,
    /// The step the run is at, from 0.
    #[serde(default)]
    pub current_step_index: u32,
    /// How often each step was dispatched.
    #[serde(default)]
    pub attempts_by_step: Attempts,
    /// What came of the newest job that ended.
    #[serde(default)]
    pub last_result: Option<Shared<LastResult>>,
    /// The judgement of that result; what a repeated step has to put right.
    #[serde(default)]
    pub verification: Option<Shared<Verdict>>,
    /// The criteria that were judged at accepted steps.
    #[serde(default, skip_serializing_if = "Tally::is_empty")]
    pub tally: Tally,
    /// How the run went on the last time that it stood still.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation: Option<Continuation>,
    /// What became of the command of the newest step that was not accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<Revision>,
    /// What was asked for; absent once the plan has taken its place.
    #[serde(default)]
    pub request: Option<Shared<Request>>,
    /// What the task allows its steps.
    #[serde(default)]
    pub bounds: Bounds,
    /// How hard the run tries, once preferences are known.
    #[serde(default)]
    pub policy: Option<Shared<RunPolicy>>,
    /// The newest job.
    #[serde(default)]
    pub job: Option<Job>,
    /// The node that failed for good, and why.
    #[serde(default)]
    pub failure: Option<NodeFailure>,
    /// How the run ended.
    #[serde(default)]
    pub finish: Option<Finish>,
}

/// What a task asks for, as its creator gave it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// How the task says what is to be done.
    pub mode: InputMode,
    /// The prompt, or the text of the script.
    pub prompt: String,
    /// The command lines.
    pub commands: Vec<String>,
    /// Artifact paths that the last step must leave behind.
    pub expected_outputs: Vec<String>,
    /// What must be true of the results of single steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step_criteria: Vec<StepCriterion>,
    /// Whether a person must agree to the plan before anything runs.
    #[serde(default)]
    pub approve_plan: bool,
}

/// How often a step runs in all whose attempts are interrupted and may be repeated, at least.
const INTERRUPTED_ATTEMPTS: u32 = 3;

/// What a task allows its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// The bounds of each job.
    pub limits: Limits,
    /// Whether a step may run again after it was interrupted.
    pub retry_interrupted: bool,
    /// How often a failing step may run in all.
    pub max_attempts: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self { limits: Limits::default(), retry_interrupted: false, max_attempts: 1 }
    }
}

/// A dispatched job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    /// Its id.
    pub job_id: JobId,
    /// The step it was made for, from 0.
    pub step_index: u32,
    /// The attempt at that step, from 1.
    pub attempt: u32,
}

/// What came of a job, short enough to be kept with every checkpoint; the job has all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastResult {
    /// The job.
    pub job_id: JobId,
    /// Where it stands.
    pub status: JobStatus,
    /// How it ended.
    pub ending: Ending,
    /// The end of standard output.
    pub stdout_tail: String,
    /// The end of standard error.
    pub stderr_tail: String,
}

impl LastResult {
    /// Whether nobody knows if the command did its work.
    pub fn is_interrupted(&self) -> bool {
        self.status == JobStatus::LeaseExpired || matches!(self.ending, Ending::Interrupted { .. })
    }
}

/// How a run goes on after a step that was not accepted, where neither its command nor the attempts
/// that are left say so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continuation {
    /// The job whose result was not accepted.
    pub job_id: JobId,
    /// How often the run stood still until then, this time counted.
    pub number: u32,
    /// How it goes on.
    pub how: GoingOn,
    /// Why, in words.
    pub reason: String,
}

/// What became of the command of a step that was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revision {
    /// The job whose result was not accepted.
    pub job_id: JobId,
    /// What the next attempt runs in its place; absent if the command stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// Why, in words.
    pub reason: String,
}

/// How a run goes on that stood still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GoingOn {
    /// The step runs again.
    Retry,
    /// The step has failed.
    GiveUp,
}

/// A node that failed for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFailure {
    /// The node.
    pub node: String,
    /// Why, in words.
    pub reason: String,
    /// Of which class its last error was.
    #[serde(default)]
    pub class: Option<ErrorClass>,
    /// How often it was tried.
    #[serde(default)]
    pub attempts: Option<u32>,
}

impl RunState {
    /// The state of a run that has not begun.
    pub fn new(task_id: TaskId) -> Self {
        Self {
            graph_version: GRAPH_VERSION,
            task_id,
            acceptance_criteria: Criteria::default(),
            preferences_effective: Preferences::default(),
            plan: Shared::default(),
            current_step_index: 0,
            attempts_by_step: Attempts::default(),
            last_result: None,
            verification: None,
            tally: Tally::default(),
            continuation: None,
            revision: None,
            request: None,
            bounds: Bounds::default(),
            policy: None,
            job: None,
            failure: None,
            finish: None,
        }
    }

    /// The step the run is at, if the plan has it.
    pub fn current_step(&self) -> Option<&Step> {
        self.plan.steps.get(usize::try_from(self.current_step_index).ok()?)
    }

    /// Whether no step follows the current one.
    pub fn is_at_last_step(&self) -> bool {
        let done = usize::try_from(self.current_step_index).unwrap_or(usize::MAX);
        done.saturating_add(1) >= self.plan.steps.len()
    }

    /// How often the current step was dispatched.
    pub fn attempts(&self) -> u32 {
        self.attempts_by_step.get(&self.current_step_index).copied().unwrap_or(0)
    }

    /// Whether the newest verdict accepts the step.
    pub fn is_accepted(&self) -> bool {
        self.verification.as_ref().is_some_and(|verdict| verdict.is_accepted())
    }

    /// Whether the step may run again. One that failed may while attempts are left. One that was
    /// interrupted may only if the task says that this does no harm; then `max_attempts`, which bounds
    /// failures, is not what ends it.
    pub fn may_retry(&self) -> bool {
        let Bounds { retry_interrupted, max_attempts, .. } = self.bounds;
        let interrupted = self.last_result.as_ref().is_some_and(|result| result.is_interrupted());
        match (interrupted, retry_interrupted) {
            (false, _) => self.attempts() < max_attempts,
            (true, true) => self.attempts() < max_attempts.max(INTERRUPTED_ATTEMPTS),
            (true, false) => false,
        }
    }

    /// What was decided about the newest result, if the run stands still for it.
    pub fn decided(&self) -> Option<&Continuation> {
        let result = self.last_result.as_ref()?;
        self.continuation.as_ref().filter(|decided| decided.job_id == result.job_id)
    }

    /// Whether somebody decided that the step runs again.
    pub fn is_continued(&self) -> bool {
        self.decided().is_some_and(|decided| decided.how == GoingOn::Retry)
    }
}
