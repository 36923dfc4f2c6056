//! A fake in-memory orchestrator with one task: fences, counts calls, and simulates crashes and outages.

mod calls;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use cynode_domain::criteria::Criterion;
use cynode_domain::ids::{JobId, LeaseId, RunId, TaskId, TraceId};
use cynode_domain::job::{Action, JobEnding, Limits};
use cynode_domain::plan::InputMode;
use cynode_domain::run_policy::RunPolicy;
use cynode_domain::status::JobStatus;
use cynode_domain::verdict::VerdictStatus;
use cynode_wire::continuing::ContinuationView;
use cynode_wire::planning::PlanningView;
use cynode_wire::replanning::ReplanView;
use cynode_wire::run_suspension::SuspendForQuestion;
use cynode_wire::workflow::{
    CheckpointView, EffectView, Finish, GrantView, LeaseToken, SaveCheckpoint, StartStatus,
    TaskContextView,
};
use cynode_workflow::engine::{DriveError, DriveOutcome, drive};
use cynode_workflow::graph::build_task_graph;
use cynode_workflow::resume::resume_run;
use cynode_workflow::run_handle::RunHandle;
use cynode_workflow_state::WorkflowState;
use tokio::sync::Notify;
use tokio::time::Instant;

/// A point at which the runner process may crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CrashPoint {
    /// The job exists, the response is not received.
    AfterDispatch,
    /// The verdict exists, the response is not received.
    AfterVerify,
    /// The answer of an effect is recorded.
    AfterRecord,
    /// The node has completed, its transition is not saved.
    BeforeSave,
    /// The transition is saved.
    AfterSave,
}

impl CrashPoint {
    pub(crate) const ALL: [Self; 5] = [
        Self::AfterDispatch,
        Self::AfterVerify,
        Self::AfterRecord,
        Self::BeforeSave,
        Self::AfterSave,
    ];
}

/// Scripted result of one attempt.
#[derive(Debug, Clone)]
pub(crate) struct FakeAttempt {
    pub(crate) status: JobStatus,
    pub(crate) ending: JobEnding,
    pub(crate) verdict: VerdictStatus,
}

impl FakeAttempt {
    pub(crate) fn good() -> Self {
        let ending = JobEnding::Exited { code: 0 };
        Self { status: JobStatus::Completed, ending, verdict: VerdictStatus::Pass }
    }

    pub(crate) fn bad() -> Self {
        let ending = JobEnding::Exited { code: 3 };
        Self { status: JobStatus::Completed, ending, verdict: VerdictStatus::Fail }
    }

    pub(crate) fn interrupted() -> Self {
        let ending = JobEnding::Interrupted { reason: "its node stopped".to_owned() };
        Self { status: JobStatus::LeaseExpired, ending, verdict: VerdictStatus::Fail }
    }

    pub(crate) fn canceled() -> Self {
        Self {
            status: JobStatus::Canceled,
            ending: JobEnding::Canceled,
            verdict: VerdictStatus::Fail,
        }
    }
}

/// State of the fake orchestrator.
#[derive(Debug)]
pub(crate) struct FakeRunState {
    pub(crate) task: TaskContextView,
    /// Results by step and attempt; all others succeed.
    pub(crate) attempts: BTreeMap<(u32, u32), FakeAttempt>,
    pub(crate) job_takes: Duration,
    /// Time from creation of a job to its verdict.
    pub(crate) verdict_takes: Duration,
    pub(crate) run_id: RunId,
    pub(crate) lease: Option<LeaseId>,
    /// Why the last runner suspended the run.
    pub(crate) suspend_reason: Option<String>,
    /// Whether a pause is requested.
    pub(crate) is_paused: bool,
    /// The open question.
    pub(crate) question: Option<SuspendForQuestion>,
    /// Decision about a stalled run; without it there is no project manager.
    pub(crate) continuation: Option<ContinuationView>,
    /// Plan for a prompt; without it there is no planner.
    pub(crate) plan: Option<PlanningView>,
    /// Replies to replan requests, in order; without one there is no project manager.
    pub(crate) replans: VecDeque<ReplanView>,
    /// Dispatched actions, in order.
    pub(crate) dispatched: Vec<Action>,
    /// Step and step criteria of each verification request.
    pub(crate) judged: Vec<(u32, Vec<Criterion>)>,
    /// The `continued` count of each continuation request.
    pub(crate) continued: Vec<u32>,
    pub(crate) epoch: i64,
    pub(crate) checkpoint: Option<CheckpointView>,
    pub(crate) effects: Vec<EffectView>,
    pub(crate) history: Vec<SaveCheckpoint>,
    pub(crate) jobs: BTreeMap<JobId, FakeJob>,
    /// Number of calls per method.
    pub(crate) calls: BTreeMap<&'static str, usize>,
    /// Methods that are unavailable.
    pub(crate) unavailable: Vec<&'static str>,
    /// Methods that reject calls.
    pub(crate) rejecting: Vec<&'static str>,
    /// Number of coming transitions that are saved but whose response is lost.
    pub(crate) lost_responses: usize,
    /// Crash at the n-th occurrence of this point.
    crash: Option<(CrashPoint, usize)>,
    moments: BTreeMap<CrashPoint, usize>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct FakeJob {
    pub(crate) step: u32,
    pub(crate) attempt: u32,
    pub(crate) made: Instant,
}

#[derive(Debug)]
pub(crate) struct FakeOrchestrator {
    state: Mutex<FakeRunState>,
    /// Notified when the runner process crashes.
    died: Notify,
}

impl FakeOrchestrator {
    /// A task with these commands, three attempts for each.
    pub(crate) fn with_commands(commands: &[&str]) -> Arc<Self> {
        let task = TaskContextView {
            task_id: TaskId::generate(),
            task_name: "a-task".to_owned(),
            input_mode: InputMode::Commands,
            prompt: String::new(),
            commands: commands.iter().map(ToString::to_string).collect(),
            acceptance_criteria: vec![],
            expected_outputs: vec![],
            step_criteria: vec![],
            limits: Limits::default(),
            retry_interrupted: false,
            approve_plan: false,
            max_attempts: 3,
            policy: RunPolicy::default(),
            preferences: BTreeMap::new(),
        };
        let world = FakeRunState {
            task,
            attempts: BTreeMap::new(),
            job_takes: Duration::ZERO,
            verdict_takes: Duration::ZERO,
            run_id: RunId::generate(),
            lease: None,
            suspend_reason: None,
            is_paused: false,
            question: None,
            continuation: None,
            plan: None,
            replans: VecDeque::new(),
            dispatched: vec![],
            judged: vec![],
            continued: vec![],
            epoch: 0,
            checkpoint: None,
            effects: vec![],
            history: vec![],
            jobs: BTreeMap::new(),
            calls: BTreeMap::new(),
            unavailable: vec![],
            rejecting: vec![],
            lost_responses: 0,
            crash: None,
            moments: BTreeMap::new(),
        };
        Arc::new(Self { state: Mutex::new(world), died: Notify::new() })
    }

    pub(crate) fn lock_state(&self) -> MutexGuard<'_, FakeRunState> {
        self.state.lock().unwrap()
    }

    pub(crate) fn with_attempt(
        self: &Arc<Self>,
        step: u32,
        attempt: u32,
        goes: FakeAttempt,
    ) -> Arc<Self> {
        self.lock_state().attempts.insert((step, attempt), goes);
        Arc::clone(self)
    }

    pub(crate) fn crash_at(&self, moment: CrashPoint, nth: usize) {
        let mut world = self.lock_state();
        world.moments.clear();
        world.crash = Some((moment, nth));
    }

    /// Grants the run to a new holder; every older lease is stale from here on.
    pub(crate) fn grant(&self) -> GrantView {
        let mut world = self.lock_state();
        world.epoch += 1;
        let lease_id = LeaseId::generate();
        world.lease = Some(lease_id);
        GrantView {
            status: StartStatus::Started,
            lease: LeaseToken { task_id: world.task.task_id, lease_id, epoch: world.epoch },
            run_id: world.run_id,
            trace_id: TraceId::generate(),
            checkpoint: world.checkpoint.clone(),
            effects: world.effects.clone(),
        }
    }

    /// Transitions so far, as `node:edge`.
    pub(crate) fn transition_path(&self) -> Vec<String> {
        let world = self.lock_state();
        world.history.iter().map(|save| format!("{}:{}", save.last_node_id, save.edge)).collect()
    }

    pub(crate) fn finish(&self) -> Option<Finish> {
        self.lock_state().history.last().and_then(|save| save.finish.clone())
    }

    pub(crate) fn call_count(&self, method: &str) -> usize {
        self.lock_state().calls.get(method).copied().unwrap_or(0)
    }

    /// Created jobs, as (step, attempt).
    pub(crate) fn job_attempts(&self) -> Vec<(u32, u32)> {
        let mut jobs: Vec<_> =
            self.lock_state().jobs.values().map(|job| (job.step, job.attempt)).collect();
        jobs.sort_unstable();
        jobs
    }
}

/// Drives the run under a new grant; `None` means that the process crashed.
pub(crate) async fn drive_once(
    fake: &Arc<FakeOrchestrator>,
) -> Option<Result<DriveOutcome<WorkflowState>, DriveError>> {
    let grant = fake.grant();
    let held = Arc::new(RunHandle::new(Arc::clone(fake) as _, grant.lease));
    let graph = build_task_graph(Arc::clone(&held)).unwrap();
    let from = resume_run(&graph, &grant).unwrap();
    tokio::select! {
        biased;
        () = fake.died.notified() => None,
        end = drive(&graph, &*held, from, &|| false) => Some(end),
    }
}

/// Drives the run to its end.
pub(crate) async fn drive_to_end(fake: &Arc<FakeOrchestrator>) -> WorkflowState {
    match drive_once(fake).await {
        Some(Ok(DriveOutcome::Finished(state))) => state,
        other => panic!("the run did not finish: {other:?}"),
    }
}
