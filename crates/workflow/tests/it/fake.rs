//! An orchestrator in memory with one task, that fences, counts, and can be crashed or away.

mod calls;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use cynode_domain::criteria::Criterion;
use cynode_domain::ids::{JobId, LeaseId, RunId, TaskId, TraceId};
use cynode_domain::job::{Action, Ending, Limits};
use cynode_domain::plan::InputMode;
use cynode_domain::run_policy::RunPolicy;
use cynode_domain::status::JobStatus;
use cynode_domain::verdict::VerdictStatus;
use cynode_wire::continuing::ContinuationView;
use cynode_wire::planning::PlanningView;
use cynode_wire::replanning::ReplanView;
use cynode_wire::steering::AskPerson;
use cynode_wire::workflow::{
    CheckpointView, EffectView, Finish, GrantView, Hold, SaveCheckpoint, StartStatus,
    TaskContextView,
};
use cynode_workflow::engine::{Ended, Stopped, drive};
use cynode_workflow::graph::task_graph;
use cynode_workflow::held::HeldTask;
use cynode_workflow::resume::resume;
use cynode_workflow::state::RunState;
use tokio::sync::Notify;
use tokio::time::Instant;

/// A moment at which the process of a runner may die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Moment {
    /// The job is made and the answer is on its way.
    AfterDispatch,
    /// The verdict is made and the answer is on its way.
    AfterVerify,
    /// The answer of an effect is stored.
    AfterRecord,
    /// The node has done its work, and its transition is not stored.
    BeforeSave,
    /// The transition is stored.
    AfterSave,
}

impl Moment {
    pub(crate) const ALL: [Self; 5] = [
        Self::AfterDispatch,
        Self::AfterVerify,
        Self::AfterRecord,
        Self::BeforeSave,
        Self::AfterSave,
    ];
}

/// How one attempt at a step goes.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    pub(crate) status: JobStatus,
    pub(crate) ending: Ending,
    pub(crate) verdict: VerdictStatus,
}

impl Attempt {
    pub(crate) fn good() -> Self {
        let ending = Ending::Exited { code: 0 };
        Self { status: JobStatus::Completed, ending, verdict: VerdictStatus::Pass }
    }

    pub(crate) fn bad() -> Self {
        let ending = Ending::Exited { code: 3 };
        Self { status: JobStatus::Completed, ending, verdict: VerdictStatus::Fail }
    }

    pub(crate) fn interrupted() -> Self {
        let ending = Ending::Interrupted { reason: "its node stopped".to_owned() };
        Self { status: JobStatus::LeaseExpired, ending, verdict: VerdictStatus::Fail }
    }

    pub(crate) fn canceled() -> Self {
        Self { status: JobStatus::Canceled, ending: Ending::Canceled, verdict: VerdictStatus::Fail }
    }
}

/// What the orchestrator knows.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) task: TaskContextView,
    /// How attempts go, by step and attempt; all others are good.
    pub(crate) attempts: BTreeMap<(u32, u32), Attempt>,
    pub(crate) job_takes: Duration,
    /// How long after its making a job is judged.
    pub(crate) verdict_takes: Duration,
    pub(crate) run_id: RunId,
    pub(crate) lease: Option<LeaseId>,
    /// Why the last runner could not go on.
    pub(crate) put_down: Option<String>,
    /// Whether somebody has asked the run to pause.
    pub(crate) is_paused: bool,
    /// What the run asks.
    pub(crate) question: Option<AskPerson>,
    /// What becomes of a run that stands still; nobody decides without it.
    pub(crate) continuation: Option<ContinuationView>,
    /// What the project manager plans for a prompt; nobody plans without it.
    pub(crate) plan: Option<PlanningView>,
    /// What becomes of commands that were not accepted, each time that is asked; nobody plans anew
    /// without it.
    pub(crate) replans: VecDeque<ReplanView>,
    /// What was dispatched, in order.
    pub(crate) dispatched: Vec<Action>,
    /// Which step was to be judged by which criteria of its own, each time that was asked.
    pub(crate) judged: Vec<(u32, Vec<Criterion>)>,
    /// How often the run had gone on, each time that was asked.
    pub(crate) continued: Vec<u32>,
    pub(crate) epoch: i64,
    pub(crate) checkpoint: Option<CheckpointView>,
    pub(crate) effects: Vec<EffectView>,
    pub(crate) history: Vec<SaveCheckpoint>,
    pub(crate) jobs: BTreeMap<JobId, Job>,
    /// How often each method was called.
    pub(crate) calls: BTreeMap<&'static str, usize>,
    /// Methods that do not answer now.
    pub(crate) away: Vec<&'static str>,
    /// Methods that say no.
    pub(crate) refusing: Vec<&'static str>,
    /// Transitions that are stored while their answer gets lost.
    pub(crate) lost_answers: usize,
    /// Where the runner dies: at the n-th of these moments.
    crash: Option<(Moment, usize)>,
    moments: BTreeMap<Moment, usize>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Job {
    pub(crate) step: u32,
    pub(crate) attempt: u32,
    pub(crate) made: Instant,
}

/// The orchestrator.
#[derive(Debug)]
pub(crate) struct Fake {
    world: Mutex<World>,
    /// Told when the process of the runner dies.
    died: Notify,
}

impl Fake {
    /// An orchestrator with a task of these commands, three attempts for each.
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
        let world = World {
            task,
            attempts: BTreeMap::new(),
            job_takes: Duration::ZERO,
            verdict_takes: Duration::ZERO,
            run_id: RunId::generate(),
            lease: None,
            put_down: None,
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
            away: vec![],
            refusing: vec![],
            lost_answers: 0,
            crash: None,
            moments: BTreeMap::new(),
        };
        Arc::new(Self { world: Mutex::new(world), died: Notify::new() })
    }

    pub(crate) fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap()
    }

    pub(crate) fn attempt(self: &Arc<Self>, step: u32, attempt: u32, goes: Attempt) -> Arc<Self> {
        self.world().attempts.insert((step, attempt), goes);
        Arc::clone(self)
    }

    pub(crate) fn crash_at(&self, moment: Moment, nth: usize) {
        let mut world = self.world();
        world.moments.clear();
        world.crash = Some((moment, nth));
    }

    /// Grants the task to somebody new; every older hold is stale from here on.
    pub(crate) fn grant(&self) -> GrantView {
        let mut world = self.world();
        world.epoch += 1;
        let lease_id = LeaseId::generate();
        world.lease = Some(lease_id);
        GrantView {
            status: StartStatus::Started,
            hold: Hold { task_id: world.task.task_id, lease_id, epoch: world.epoch },
            run_id: world.run_id,
            trace_id: TraceId::generate(),
            checkpoint: world.checkpoint.clone(),
            effects: world.effects.clone(),
        }
    }

    /// The transitions so far, as `node:edge`.
    pub(crate) fn path(&self) -> Vec<String> {
        let world = self.world();
        world.history.iter().map(|save| format!("{}:{}", save.last_node_id, save.edge)).collect()
    }

    pub(crate) fn finish(&self) -> Option<Finish> {
        self.world().history.last().and_then(|save| save.finish.clone())
    }

    pub(crate) fn calls(&self, method: &str) -> usize {
        self.world().calls.get(method).copied().unwrap_or(0)
    }

    /// Jobs made, as (step, attempt).
    pub(crate) fn jobs(&self) -> Vec<(u32, u32)> {
        let mut jobs: Vec<_> =
            self.world().jobs.values().map(|job| (job.step, job.attempt)).collect();
        jobs.sort_unstable();
        jobs
    }
}

/// Drives the task under a new grant; `None` means that the process died.
pub(crate) async fn drive_once(fake: &Arc<Fake>) -> Option<Result<Ended<RunState>, Stopped>> {
    let grant = fake.grant();
    let held = Arc::new(HeldTask::new(Arc::clone(fake) as _, grant.hold));
    let graph = task_graph(Arc::clone(&held) as _).unwrap();
    let from = resume(&graph, &grant).unwrap();
    tokio::select! {
        biased;
        () = fake.died.notified() => None,
        end = drive(&graph, &*held, from, &|| false) => Some(end),
    }
}

/// Drives the task to its end in one go.
pub(crate) async fn drive_to_end(fake: &Arc<Fake>) -> RunState {
    match drive_once(fake).await {
        Some(Ok(Ended::Finished(state))) => state,
        other => panic!("the run did not finish: {other:?}"),
    }
}
