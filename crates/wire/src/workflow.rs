//! The workflow API: how a runner takes a task, moves it, and lets go.
//!
//! Every call that writes carries a [`Hold`]: the lease and its fencing epoch. A hold that is no
//! longer the newest is refused with 409, and the runner must stop at once.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cynode_domain::changes::Changes;
use cynode_domain::criteria::Criterion;
use cynode_domain::ids::{HolderId, JobId, LeaseId, RunId, TaskId, TraceId};
use cynode_domain::job::Limits;
use cynode_domain::plan::{InputMode, Step, StepCriterion};
use cynode_domain::run_policy::RunPolicy;
use cynode_domain::verdict::Verdict;
use cynode_domain::verification::VerificationStatus;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Proof of the right to drive a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Hold {
    /// The task.
    pub task_id: TaskId,
    /// The lease.
    pub lease_id: LeaseId,
    /// Grows with every grant; an older epoch can no longer write.
    pub epoch: i64,
}

/// `POST /v1/workflow/start`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRun {
    /// The task to drive.
    pub task_id: TaskId,
    /// The runner.
    pub holder_id: HolderId,
    /// How long the lease lasts without renewal, in milliseconds: 1000 to 3600000, 30000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u32>,
    /// Which versions of the graph the runner can drive; any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_versions: Option<GraphVersions>,
}

/// The versions of the workflow's graph that a runner can drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphVersions {
    /// The oldest.
    pub oldest: u32,
    /// The newest; runs that nobody has begun start with it.
    pub newest: u32,
}

/// `POST /v1/workflow/claim`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRun {
    /// The runner.
    pub holder_id: HolderId,
    /// How long the lease lasts without renewal, in milliseconds: 1000 to 3600000, 30000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u32>,
    /// How long to wait for a runnable task, in milliseconds; at most 30000.
    #[serde(default)]
    pub wait_ms: u32,
    /// How many tasks to grant at most: 1 to 64, 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// Which versions of the graph the runner can drive: no other run is granted. Any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_versions: Option<GraphVersions>,
}

/// Whether a start made something happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartStatus {
    /// The caller now holds the task.
    Started,
    /// The caller already held it.
    AlreadyRunning,
}

/// A task granted to a runner.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct GrantView {
    /// Whether this grant is new.
    pub status: StartStatus,
    /// Send this with every later call.
    pub hold: Hold,
    /// The run.
    pub run_id: RunId,
    /// Follows the run through logs of every process.
    pub trace_id: TraceId,
    /// Where to go on; absent for a run that has not begun.
    pub checkpoint: Option<CheckpointView>,
    /// Answers of effects that already happened since that checkpoint.
    pub effects: Vec<EffectView>,
}

/// The answer to a claim: grants, or nothing to do.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ClaimView {
    /// The grant; absent when no task became runnable in time.
    pub grant: Option<GrantView>,
    /// Further grants, if the claim asked for more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more: Vec<GrantView>,
}

/// `POST /v1/workflow/resume`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeRun {
    /// The task.
    pub task_id: TaskId,
}

/// The newest checkpoint of a task.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct CheckpointView {
    /// The task.
    pub task_id: TaskId,
    /// The whole state after that node.
    pub state: Value,
    /// The last completed node.
    pub last_node_id: String,
    /// The edge that was taken out of it.
    pub edge: String,
    /// Transitions recorded so far.
    pub sequence: i64,
    /// When it was recorded.
    pub updated_at: DateTime<Utc>,
}

/// `POST /v1/workflow/checkpoint`: either the whole state, or what changed since the transition before.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveCheckpoint {
    /// Proof of the right to write.
    pub hold: Hold,
    /// The number of this transition: one more than the checkpoint before, from 1.
    pub sequence: i64,
    /// The node that completed.
    pub last_node_id: String,
    /// Which of its edges is taken.
    pub edge: String,
    /// The whole state after it; always with the first transition under a lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// What it changed in the state, which is then a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// How long the node took, in milliseconds.
    pub duration_ms: i64,
    /// How long the lease is to last: after this call at least two thirds of it are left. It is not
    /// extended when absent. 1000 to 3600000 milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u32>,
    /// The step it was about, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_index: Option<u32>,
    /// The job it was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<JobId>,
    /// Ends the run in the same transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
}

/// How a run ends.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    /// Whether every step was accepted.
    pub outcome: Outcome,
    /// What came of it, for people.
    pub summary: String,
    /// What was verified of a completed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<VerificationStatus>,
}

/// The two ends of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every step was accepted.
    Completed,
    /// A step failed for good.
    Failed,
}

/// `POST /v1/workflow/effects`: remembers the answer of an effect, so that a re-entered node gets it again.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordEffect {
    /// Proof of the right to write.
    pub hold: Hold,
    /// The effect and its answer.
    pub effect: EffectView,
}

/// An effect that happened.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectView {
    /// Unique in the run.
    pub key: String,
    /// What it answered.
    pub answer: Value,
}

/// `POST /v1/workflow/renew`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RenewLease {
    /// The lease to extend.
    pub hold: Hold,
    /// How long it lasts from now, in milliseconds: 1000 to 3600000, 30000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u32>,
    /// What the running node waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingView>,
}

impl RenewLease {
    /// Extends a lease whose node has nothing to say.
    pub const fn of(hold: Hold, lease_ms: Option<u32>) -> Self {
        Self { hold, lease_ms, waiting: None }
    }
}

/// What a running node waits for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitingView {
    /// The node.
    pub node: String,
    /// What it waits for, for people.
    pub waiting_for: String,
}

/// `POST /v1/workflow/release`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseLease {
    /// The lease to give up. Giving up a lease one no longer holds changes nothing.
    pub hold: Hold,
    /// Why the runner cannot go on, for people. The run stays where it is, and other runners may
    /// take it after a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The version of the graph that the run needs, if that is the reason: only runners that know
    /// it are granted the run from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_version: Option<u32>,
    /// Whether the run waits for something that the orchestrator has begun, such as a plan, which `reason` names.
    /// It is granted again when that is there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_waiting: bool,
}

impl ReleaseLease {
    /// Gives up a lease of a run that any runner may go on with at once.
    pub const fn of(hold: Hold) -> Self {
        Self { hold, reason: None, graph_version: None, is_waiting: false }
    }
}

/// `POST /v1/workflow/gone`: said by who started a runner and saw it end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HolderGone {
    /// The runner that has ended. Its leases end now, and not when their time is over.
    pub holder_id: HolderId,
}

/// What a runner that has ended left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct GoneView {
    /// How many tasks other runners may take now.
    pub tasks: u64,
}

/// `GET /v1/workflow/tasks/{task}`: what `load_task_context` reads.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct TaskContextView {
    /// The task.
    pub task_id: TaskId,
    /// The task's name.
    pub task_name: String,
    /// How the task says what is to be done.
    pub input_mode: InputMode,
    /// The request in prose, or the text of the script.
    pub prompt: String,
    /// The command lines, in `commands` mode.
    pub commands: Vec<String>,
    /// What must be true of the result.
    pub acceptance_criteria: Vec<Criterion>,
    /// What must be true of the results of single steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step_criteria: Vec<StepCriterion>,
    /// Artifact paths the last step must leave behind.
    pub expected_outputs: Vec<String>,
    /// The bounds of each job.
    pub limits: Limits,
    /// Whether a step may run again after it was interrupted.
    pub retry_interrupted: bool,
    /// How often a failing step may run in all: as the task says, or else the policy.
    pub max_attempts: u32,
    /// Whether a person must agree to the plan before anything runs.
    #[serde(default)]
    pub approve_plan: bool,
    /// How hard the run is to try, as preferences have it.
    #[serde(default)]
    pub policy: RunPolicy,
    /// Preferences in effect for the task, by key.
    #[serde(default)]
    pub preferences: BTreeMap<String, Value>,
}

/// `POST /v1/workflow/dispatch`: one job for (run, step, attempt), however often it is asked for.
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DispatchStep {
    /// Proof of the right to write.
    pub hold: Hold,
    /// The step of the plan, from 0.
    pub step_index: u32,
    /// The attempt at that step, from 1.
    pub attempt: u32,
    /// The step.
    pub step: Step,
}

/// The job made for a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct DispatchedView {
    /// The job.
    pub job_id: JobId,
}

/// `GET /v1/workflow/jobs/{job}`: waits until the job has ended or `wait_ms` have passed.
#[derive(Debug, Clone, Copy, Default, Deserialize, Serialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AwaitJob {
    /// How long to wait, in milliseconds; at most 30000.
    #[serde(default)]
    pub wait_ms: u32,
}

/// `POST /v1/workflow/verify`: has a step's result judged. Asked again for the same step and attempt, it
/// answers with the same verdict.
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyStep {
    /// Proof of the right to write.
    pub hold: Hold,
    /// The job that ended.
    pub job_id: JobId,
    /// Artifact paths the step owed.
    pub expected_outputs: Vec<String>,
    /// What must be true of the result of this step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Criterion>,
    /// Whether the task's acceptance criteria apply: true for the last step only.
    pub is_last_step: bool,
    /// How long to wait for a verdict that takes its time, in milliseconds; at most 30000.
    #[serde(default)]
    pub wait_ms: u32,
}

/// The answer to a verification: a verdict, or what it still waits for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct VerificationView {
    /// The verdict; absent while somebody still looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What the verdict waits for, for people: ask again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
}

impl From<Verdict> for VerificationView {
    fn from(verdict: Verdict) -> Self {
        Self { verdict: Some(verdict), waiting_for: None }
    }
}
