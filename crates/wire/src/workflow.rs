//! The workflow API: how a runner claims a task, drives its run, and releases it.
//!
//! Every call that writes carries a [`LeaseToken`]: the lease and its fencing epoch. A stale token is rejected with 409, and
//! the runner must stop at once.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use cynode_domain::criteria::Criterion;
use cynode_domain::ids::{HolderId, JobId, RunId, TaskId, TraceId};
use cynode_domain::job::Limits;
pub use cynode_domain::lease::LeaseToken;
use cynode_domain::plan::{InputMode, Step, StepCriterion};
use cynode_domain::run_policy::RunPolicy;
use cynode_domain::verdict::Verdict;
use cynode_workflow_state::changes::Changes;
pub use cynode_workflow_state::{Finish, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Upper bound of every long poll.
pub const MAX_WAIT_MS: u32 = 30_000;

/// `POST /v1/workflow/start`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct StartRun {
    /// The task to drive.
    pub task_id: TaskId,
    /// The runner.
    pub holder_id: HolderId,
    /// Lease duration without renewal, in milliseconds: 1000 to 3600000, 30000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u32>,
    /// Graph versions that the runner supports; any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_versions: Option<GraphVersions>,
}

/// Graph versions that a runner supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct GraphVersions {
    /// The oldest.
    pub oldest: u32,
    /// The newest; new runs start with it.
    pub newest: u32,
}

/// `POST /v1/workflow/claim`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ClaimRun {
    /// The runner.
    pub holder_id: HolderId,
    /// Lease duration without renewal, in milliseconds: 1000 to 3600000, 30000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u32>,
    /// Maximum wait for a runnable task, in milliseconds; at most 30000.
    #[serde(default)]
    pub wait_ms: u32,
    /// Maximum grants: 1 to 64, 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// Graph versions that the runner supports: no other run is granted. Any when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_versions: Option<GraphVersions>,
}

/// Result of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StartStatus {
    /// The lease was granted.
    Started,
    /// The caller already held the lease.
    AlreadyRunning,
}

/// A task granted to a runner.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct GrantView {
    /// Whether this grant is new.
    pub status: StartStatus,
    /// Lease token for every later call.
    #[serde(rename = "hold")]
    pub lease: LeaseToken,
    /// The run.
    pub run_id: RunId,
    /// Trace id, shared by the logs of all processes.
    pub trace_id: TraceId,
    /// Checkpoint to resume from; absent for a new run.
    pub checkpoint: Option<CheckpointView>,
    /// Journalled effects since that checkpoint.
    pub effects: Vec<EffectView>,
}

/// Response to a claim: grants, or none.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct ClaimView {
    /// The grant; absent when no task became runnable in time.
    pub grant: Option<GrantView>,
    /// Further grants, if the claim requested more than one.
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
    /// Complete state after that node.
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

/// `POST /v1/workflow/checkpoint`: either the complete state, or the changes since the previous transition.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveCheckpoint {
    /// Lease that authorises the write.
    #[serde(rename = "hold")]
    pub lease: LeaseToken,
    /// Number of this transition, from 1: that of the previous checkpoint plus one.
    pub sequence: i64,
    /// The node that completed.
    pub last_node_id: String,
    /// Edge that is taken.
    pub edge: String,
    /// Complete state after it; required for the first transition under a lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<Value>,
    /// Changes to the state, which is then a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
    /// How long the node took, in milliseconds.
    pub duration_ms: i64,
    /// New lease duration, 1000 to 3600000 milliseconds: after this call at least two thirds of it are left. Not
    /// extended when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u32>,
    /// Step, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step_index: Option<u32>,
    /// Job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_id: Option<JobId>,
    /// Ends the run in the same transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish: Option<Finish>,
}

/// `POST /v1/workflow/effects`: journals the answer of an effect, so that a re-executed node gets it again.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordEffect {
    /// Lease that authorises the write.
    #[serde(rename = "hold")]
    pub lease: LeaseToken,
    /// The effect and its answer.
    pub effect: EffectView,
}

/// A journalled effect.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectView {
    /// Unique in the run.
    pub key: String,
    /// Its answer.
    pub answer: Value,
}

/// `POST /v1/workflow/renew`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RenewLease {
    /// The lease to extend.
    #[serde(rename = "hold")]
    pub lease: LeaseToken,
    /// Lease duration from now, in milliseconds: 1000 to 3600000, 30000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u32>,
    /// What the running node waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting: Option<WaitingView>,
}

impl RenewLease {
    /// Renews a lease without a waiting node.
    pub const fn new(lease: LeaseToken, lease_ms: Option<u32>) -> Self {
        Self { lease, lease_ms, waiting: None }
    }
}

/// What a running node waits for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitingView {
    /// The node.
    pub node: String,
    /// What it waits for, in words.
    pub waiting_for: String,
}

/// `POST /v1/workflow/release`
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReleaseLease {
    /// Lease to release. Releasing a lost lease has no effect.
    #[serde(rename = "hold")]
    pub lease: LeaseToken,
    /// Why the runner cannot continue, for people. The run stays where it is, and other runners may claim it after a
    /// minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Graph version that the run needs, if that is the reason: only runners that support it are granted the run from
    /// then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub graph_version: Option<u32>,
    /// Whether the run waits for something that the orchestrator has started, such as a plan, which `reason` names. It
    /// is granted again when that is available.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_waiting: bool,
}

impl ReleaseLease {
    /// Releases a lease of a run that any runner may claim at once.
    pub const fn new(lease: LeaseToken) -> Self {
        Self { lease, reason: None, graph_version: None, is_waiting: false }
    }
}

/// `POST /v1/workflow/gone`: sent by the supervisor of a runner that has exited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HolderGone {
    /// The runner that has exited. Its leases are released at once.
    pub holder_id: HolderId,
}

/// Response to a `gone` report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct GoneView {
    /// Number of released tasks.
    pub tasks: u64,
}

/// `GET /v1/workflow/tasks/{task}`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LoadTask {
    pub task_id: TaskId,
}

/// `GET /v1/workflow/tasks/{task}`: input of `load_task_context`.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct TaskContextView {
    /// The task.
    pub task_id: TaskId,
    /// The task's name.
    pub task_name: String,
    /// Input mode.
    pub input_mode: InputMode,
    /// The request in prose, or the text of the script.
    pub prompt: String,
    /// The command lines, in `commands` mode.
    pub commands: Vec<String>,
    /// Acceptance criteria.
    pub acceptance_criteria: Vec<Criterion>,
    /// Criteria for single steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub step_criteria: Vec<StepCriterion>,
    /// Artifact paths that the last step must produce.
    pub expected_outputs: Vec<String>,
    /// Limits of each job.
    pub limits: Limits,
    /// Whether a step may run again after it was interrupted.
    pub retry_interrupted: bool,
    /// Maximum attempts of a failing step: of the task, or else of the policy.
    pub max_attempts: u32,
    /// Whether a person must approve the plan before anything runs.
    #[serde(default)]
    pub approve_plan: bool,
    /// Retry policy, from preferences.
    #[serde(default)]
    pub policy: RunPolicy,
    /// Preferences in effect for the task, by key.
    #[serde(default)]
    pub preferences: BTreeMap<String, Value>,
}

/// `POST /v1/workflow/dispatch`: creates one job for (run, step, attempt); idempotent.
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DispatchStep {
    /// Lease that authorises the write.
    #[serde(rename = "hold")]
    pub lease: LeaseToken,
    /// The step of the plan, from 0.
    pub step_index: u32,
    /// The attempt at that step, from 1.
    pub attempt: u32,
    /// The step.
    pub step: Step,
}

/// Job created for a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct DispatchedView {
    /// The job.
    pub job_id: JobId,
}

/// `GET /v1/workflow/jobs/{job}`, with [`AwaitJob`] as query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PollJob {
    pub job_id: JobId,
    /// How long to wait for the job to end, in milliseconds.
    pub wait_ms: u32,
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

/// `POST /v1/workflow/verify`: requests a verdict on a step's result. Idempotent for a step and attempt.
#[derive(Debug, Clone, Deserialize, Serialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyStep {
    /// Lease that authorises the write.
    #[serde(rename = "hold")]
    pub lease: LeaseToken,
    /// The job that ended.
    pub job_id: JobId,
    /// Artifact paths that the step must produce.
    pub expected_outputs: Vec<String>,
    /// Criteria of this step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<Criterion>,
    /// Whether the task's acceptance criteria apply: true for the last step only.
    pub is_last_step: bool,
    /// Maximum wait for the verdict, in milliseconds; at most 30000.
    #[serde(default)]
    pub wait_ms: u32,
}

/// Response to a verification: a verdict, or what it waits for.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize, utoipa::ToSchema)]
pub struct VerificationView {
    /// The verdict; absent while it is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What the verdict waits for, in words; call again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waiting_for: Option<String>,
}

impl From<Verdict> for VerificationView {
    fn from(verdict: Verdict) -> Self {
        Self { verdict: Some(verdict), waiting_for: None }
    }
}
