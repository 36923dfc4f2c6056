//! The state of a run's workflow: everything a runner needs to resume from a checkpoint.
//!
//! It is stored as JSON with every transition and read by other versions of this program, so new fields
//! have a default and no field is ever renamed. [`WorkflowState`] is the only definition of that JSON:
//! runners write it, and the orchestrator reads stored states through [`StoredState`] and
//! [`StoredPosition`].

pub mod changes;
mod shared;
mod snapshot;
mod stored;
mod tally;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::shared::{SharedPart, StepAttempts};
pub use self::snapshot::WorkflowStateSnapshot;
pub use self::stored::{StoredPosition, StoredState};
pub use self::tally::VerificationTally;
use cynode_domain::criteria::Criterion;
use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::job::{Action, JobEnding, Limits};
use cynode_domain::plan::{InputMode, Plan, Step, StepCriterion};
use cynode_domain::run_policy::RunPolicy;
use cynode_domain::status::JobStatus;
use cynode_domain::verdict::Verdict;
use cynode_domain::verification::VerificationStatus;

/// Incremented with every change of nodes, edges or state that an older runner cannot resume.
///
/// 2: a stalled run continues as the project manager or a person decides; an older runner would fail it
/// despite the decision.
/// 3: a person is asked about criteria an analyst finds unclear; an older runner cannot read such a verdict.
/// 4: a person is asked about criteria without a judgement; an older runner would accept them.
/// 5: plans name the author and the criteria of each step; an older runner would drop both.
/// 6: steps of agents; an older runner cannot read them.
pub const GRAPH_VERSION: u32 = 6;

/// Acceptance criteria.
pub type SharedCriteria = SharedPart<Vec<Criterion>>;
/// Preferences, by key.
pub type SharedPreferences = SharedPart<BTreeMap<String, Value>>;

/// The state of a run's workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorkflowState {
    /// The version of the graph that wrote this state.
    pub graph_version: u32,
    pub task_id: TaskId,
    #[serde(default)]
    pub acceptance_criteria: SharedCriteria,
    /// Preferences in effect when the run started, by key.
    #[serde(default)]
    pub preferences_effective: SharedPreferences,
    /// The steps and the assumptions of the plan.
    #[serde(default)]
    pub plan: SharedPart<Plan>,
    /// From 0.
    #[serde(default)]
    pub current_step_index: u32,
    /// How often each step was dispatched.
    #[serde(default)]
    pub attempts_by_step: StepAttempts,
    /// Result of the newest job that ended.
    #[serde(default)]
    pub last_result: Option<SharedPart<JobResultSummary>>,
    /// Verdict on that result.
    #[serde(default)]
    pub verification: Option<SharedPart<Verdict>>,
    /// Counts of judged criteria at accepted steps.
    #[serde(default, skip_serializing_if = "VerificationTally::is_empty")]
    pub tally: VerificationTally,
    /// How the run continued the last time it stalled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation: Option<ContinuationRecord>,
    /// Replanning of the newest rejected step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<StepRevision>,
    /// The request; absent once the plan has replaced it.
    #[serde(default)]
    pub request: Option<SharedPart<RunTaskRequest>>,
    #[serde(default)]
    pub bounds: TaskStepBounds,
    /// Retry and timeout policy, once preferences are loaded.
    #[serde(default)]
    pub policy: Option<SharedPart<RunPolicy>>,
    #[serde(default)]
    pub job: Option<DispatchedStepJob>,
    /// The node that failed permanently, and why.
    #[serde(default)]
    pub failure: Option<NodeFailure>,
    #[serde(default)]
    pub finish: Option<Finish>,
}

/// The request of a task, as its creator wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunTaskRequest {
    pub mode: InputMode,
    /// The prompt, or the script.
    pub prompt: String,
    pub commands: Vec<String>,
    /// Artifact paths that the last step must produce.
    pub expected_outputs: Vec<String>,
    /// Criteria of single steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step_criteria: Vec<StepCriterion>,
    /// Whether a person must approve the plan before anything runs.
    #[serde(default)]
    pub approve_plan: bool,
}

/// Minimum number of attempts of a step that may be retried after interruptions.
const INTERRUPTED_ATTEMPTS: u32 = 3;

/// Limits of a task's steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStepBounds {
    /// Limits of each job.
    pub limits: Limits,
    /// Whether an interrupted step may be retried.
    pub retry_interrupted: bool,
    /// Maximum number of attempts of a failing step.
    pub max_attempts: u32,
}

impl Default for TaskStepBounds {
    fn default() -> Self {
        Self { limits: Limits::default(), retry_interrupted: false, max_attempts: 1 }
    }
}

/// A dispatched job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DispatchedStepJob {
    pub job_id: JobId,
    /// From 0.
    pub step_index: u32,
    /// From 1.
    pub attempt: u32,
}

/// Result of a job, short enough for every checkpoint; the job record has the full result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobResultSummary {
    pub job_id: JobId,
    pub status: JobStatus,
    pub ending: JobEnding,
    pub stdout_tail: String,
    pub stderr_tail: String,
}

impl JobResultSummary {
    /// Whether it is unknown if the command completed its work.
    pub fn is_interrupted(&self) -> bool {
        self.status == JobStatus::LeaseExpired
            || matches!(self.ending, JobEnding::Interrupted { .. })
    }
}

/// How a run continues after a rejected step, if neither the command's ending nor the remaining attempts
/// decide it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContinuationRecord {
    /// The job whose result was rejected.
    pub job_id: JobId,
    /// How often the run has stalled, including this time.
    pub number: u32,
    pub how: ContinuationOutcome,
    pub reason: String,
}

/// Replanning of a rejected step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRevision {
    /// The job whose result was rejected.
    pub job_id: JobId,
    /// The action of the next attempt; absent if it is unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    pub reason: String,
}

/// How a stalled run continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContinuationOutcome {
    Retry,
    GiveUp,
}

/// A node that failed permanently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFailure {
    pub node: String,
    pub reason: String,
    /// Class of its last error.
    #[serde(default)]
    pub class: Option<NodeErrorClass>,
    #[serde(default)]
    pub attempts: Option<u32>,
}

/// Classes of errors of workflow nodes, by how the engine reacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeErrorClass {
    /// The run stops; nothing more is written.
    Cancelled,
    /// The run stops; nothing more is written.
    LeaseLost,
    /// The node is retried with exponential backoff.
    Transient,
    /// The node is retried after the first backoff step: no service has to recover first.
    BadOutput,
    /// The run fails at once.
    Denied,
    /// The run waits for a result produced elsewhere, without a runner.
    Waits,
    /// The run waits for an answer, without a runner.
    Asks,
}

/// How a run ends.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    /// Whether every step was accepted.
    pub outcome: Outcome,
    /// Summary for people.
    pub summary: String,
    /// Verification of a completed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationStatus>,
}

/// Outcome of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every step was accepted.
    Completed,
    /// A step failed permanently.
    Failed,
}

impl WorkflowState {
    /// The initial state.
    pub fn new(task_id: TaskId) -> Self {
        Self {
            graph_version: GRAPH_VERSION,
            task_id,
            acceptance_criteria: SharedCriteria::default(),
            preferences_effective: SharedPreferences::default(),
            plan: SharedPart::default(),
            current_step_index: 0,
            attempts_by_step: StepAttempts::default(),
            last_result: None,
            verification: None,
            tally: VerificationTally::default(),
            continuation: None,
            revision: None,
            request: None,
            bounds: TaskStepBounds::default(),
            policy: None,
            job: None,
            failure: None,
            finish: None,
        }
    }

    /// The current step, if the plan has it.
    pub fn current_step(&self) -> Option<&Step> {
        self.plan.steps.get(usize::try_from(self.current_step_index).ok()?)
    }

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

    /// Whether the step may be retried. A failed step may while attempts are left. An interrupted step
    /// may only if the task allows it; `max_attempts` bounds failures, so at least
    /// `INTERRUPTED_ATTEMPTS` apply then.
    pub fn may_retry(&self) -> bool {
        let TaskStepBounds { retry_interrupted, max_attempts, .. } = self.bounds;
        let interrupted = self.last_result.as_ref().is_some_and(|result| result.is_interrupted());
        match (interrupted, retry_interrupted) {
            (false, _) => self.attempts() < max_attempts,
            (true, true) => self.attempts() < max_attempts.max(INTERRUPTED_ATTEMPTS),
            (true, false) => false,
        }
    }

    /// The decision about the newest result, if the run stalled on it.
    pub fn current_continuation(&self) -> Option<&ContinuationRecord> {
        let result = self.last_result.as_ref()?;
        self.continuation.as_ref().filter(|decided| decided.job_id == result.job_id)
    }

    /// Whether the decision is to retry the step.
    pub fn is_continued(&self) -> bool {
        self.current_continuation().is_some_and(|decided| decided.how == ContinuationOutcome::Retry)
    }
}
