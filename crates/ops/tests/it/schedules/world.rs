//! An installation whose project manager creates the tasks of schedules.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use cynode_domain::ids::{ScheduleId, TaskId};
use cynode_domain::schedule::ScheduleRunStatus;
use cynode_execution::TaskService;
use cynode_execution::{
    handoff::HandoffChatEvents, handoff::HandoffError, handoff::HandoffOptions,
    handoff::HandoffService, handoff::NoProjectManager, handoff::ProjectManager,
};
use cynode_ops::{schedules::Scheduler, schedules::SchedulerOptions, schedules::Schedules};
use cynode_resources::Signals;
use cynode_resources::agents::AgentTokens;
use cynode_store::{Error, ScheduleClaim, TaskFilter};
use cynode_wire::handoff::HandoffKind;
use cynode_wire::page::PageQuery;
use cynode_wire::schedules::{CreateSchedule, ScheduleRunView, ScheduleView};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::catalogue::Catalogue;

/// Creates one task for each schedule handed to it, as its tool would, and a different one each
/// time, as a model might; its failures can be scripted.
pub(super) struct ScriptedScheduleManager {
    tasks: TaskService,
    agents: AgentTokens,
    pub(super) handed: Mutex<Vec<Value>>,
    /// Errors returned instead of an answer, last first.
    pub(super) fails: Mutex<Vec<HandoffError>>,
    /// Whether it creates its tasks before it fails.
    pub(super) makes_first: bool,
}

#[async_trait]
impl ProjectManager for ScriptedScheduleManager {
    fn is_configured(&self) -> bool {
        true
    }

    async fn send_handoff(
        &self,
        kind: HandoffKind,
        handoff: Value,
        _: Duration,
    ) -> Result<Value, HandoffError> {
        assert_eq!(kind, HandoffKind::ScheduledRun);
        let times = {
            let mut handed = self.handed.lock().unwrap();
            handed.push(handoff.clone());
            handed.len()
        };
        let mut failure = self.fails.lock().unwrap().pop();
        if let Some(failure) = failure.take_if(|_| !self.makes_first) {
            return Err(failure);
        }
        let token = handoff["context"]["agent_token"].as_str().unwrap();
        let who = self.agents.authenticate(token).await.unwrap();
        let request = json!({
            "input_mode": "commands", "commands": [format!("echo {times}")], "project": who.project,
        });
        let all = vec![serde_json::from_value(request).unwrap()];
        let run = who.origin.schedule_run.unwrap();
        let made = self.tasks.create_all_for_schedule(&who.caller, run, all).await.unwrap();
        failure.map_or_else(|| Ok(json!({ "summary": "made it", "tasks": [made[0].id] })), Err)
    }

    async fn chat(&self, _: Value, _: Duration) -> Result<HandoffChatEvents, HandoffError> {
        Err(HandoffError::Unreachable("only schedules here".to_owned()))
    }
}

pub(super) struct Clockwork {
    pub(super) fixture: Catalogue,
    pub(super) schedules: Schedules,
    pub(super) scheduler: Scheduler,
    pub(super) manager: Arc<ScriptedScheduleManager>,
    pub(super) signals: Signals,
}

impl Clockwork {
    pub(super) async fn new() -> Self {
        Self::with(vec![], false).await
    }

    /// With a project manager that fails like this, last first.
    pub(super) async fn with(fails: Vec<HandoffError>, makes_first: bool) -> Self {
        let fixture = Catalogue::new().await;
        let signals = fixture.world.signals();
        let manager = Arc::new(ScriptedScheduleManager {
            tasks: fixture.tasks.clone(),
            agents: fixture.world.agents.clone(),
            handed: Mutex::default(),
            fails: Mutex::new(fails),
            makes_first,
        });
        Self {
            scheduler: scheduler(&fixture, signals.clone(), manager.clone()),
            schedules: Schedules::new(fixture.world.store.clone(), signals.clone()),
            fixture,
            signals,
            manager,
        }
    }

    /// The same without a project manager.
    pub(super) async fn alone() -> Self {
        let mut clockwork = Self::new().await;
        let signals = clockwork.signals.clone();
        clockwork.scheduler = scheduler(&clockwork.fixture, signals, Arc::new(NoProjectManager));
        clockwork
    }

    pub(super) async fn make(&self, request: Value) -> ScheduleView {
        let request: CreateSchedule = serde_json::from_value(request).unwrap();
        self.schedules.create(self.fixture.bob(), request).await.unwrap()
    }

    /// A prompt that is due every hour.
    pub(super) async fn prose(&self) -> ScheduleView {
        self.make(json!({ "name": "Nightly", "every_s": 3600, "prompt": "tidy up" })).await
    }

    /// Moves the due time of a schedule this many seconds into the past.
    pub(super) async fn comes_due(&self, schedule: ScheduleId, seconds_ago: i64) {
        let changed: Result<(), Error> = self
            .fixture
            .world
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let now = tx.schedule_now().await?;
                    let mut schedule = tx.schedule_get(schedule).await?.unwrap();
                    let due = now - TimeDelta::seconds(seconds_ago);
                    (schedule.next_due_at, schedule.rule.anchor) = (Some(due), due);
                    tx.schedule_update(&schedule).await
                })
            })
            .await;
        changed.unwrap();
    }

    /// Ends the backoff of a run.
    pub(super) async fn expire_backoffs(&self, run: &ScheduleRunView) {
        let claim = ScheduleClaim { run: run.id, attempt: run.attempts };
        let waiting = ScheduleRunStatus::Claimed;
        let ended: Result<bool, Error> = self
            .fixture
            .world
            .store
            .write(move |tx| {
                Box::pin(async move { tx.schedule_run_renew(claim, waiting, 0).await })
            })
            .await;
        assert!(ended.unwrap());
    }

    pub(super) async fn activate(&self) {
        self.scheduler.process_due().await.unwrap();
    }

    /// The runs of the schedule, newest first.
    pub(super) async fn runs(&self, schedule: ScheduleId) -> Vec<ScheduleRunView> {
        let (bob, page) = (self.fixture.bob(), PageQuery::default());
        self.schedules.runs(bob, &schedule.into(), &page).await.unwrap().items
    }

    /// The runs of the schedule with this name.
    pub(super) async fn named(&self, schedule: &str) -> Vec<ScheduleRunView> {
        let (bob, page) = (self.fixture.bob(), PageQuery::default());
        self.schedules.runs(bob, &schedule.into(), &page).await.unwrap().items
    }

    /// The events of schedules and who caused them.
    pub(super) async fn events(&self) -> Vec<(String, Value)> {
        let events = self.fixture.world.events(None).await.into_iter();
        let events = events.filter(|event| event.kind.starts_with("schedule."));
        events.map(|event| (event.kind.clone(), event.data["by"].clone())).collect()
    }

    /// Bob's tasks except the one that existed before.
    pub(super) async fn tasks(&self) -> Vec<TaskId> {
        let first = self.fixture.task.id;
        let tasks: Result<Vec<_>, Error> = self
            .fixture
            .world
            .store
            .read(|tx| {
                Box::pin(async move {
                    let filter = TaskFilter { limit: 50, ..TaskFilter::default() };
                    tx.task_list(&filter).await
                })
            })
            .await;
        tasks.unwrap().into_iter().map(|task| task.spec.id).filter(|id| *id != first).collect()
    }

    /// The trigger of a task, from its first event.
    pub(super) async fn trigger(&self, task: TaskId) -> Value {
        let mut events = self.fixture.world.events(Some(task)).await.into_iter();
        let created = events.find(|event| event.kind == "task.created");
        created.unwrap().data["trigger"].clone()
    }
}

/// Accepts a handoff and never answers.
#[derive(Default)]
pub(super) struct HangingScheduleManager {
    /// Notified when it has received a handoff.
    pub(super) begun: Notify,
}

#[async_trait]
impl ProjectManager for HangingScheduleManager {
    fn is_configured(&self) -> bool {
        true
    }

    async fn send_handoff(
        &self,
        _: HandoffKind,
        _: Value,
        _: Duration,
    ) -> Result<Value, HandoffError> {
        self.begun.notify_one();
        std::future::pending().await
    }

    async fn chat(&self, _: Value, _: Duration) -> Result<HandoffChatEvents, HandoffError> {
        std::future::pending().await
    }
}

/// A scheduler that receives these signals. Its leases and backoffs never expire by themselves: on
/// a slow machine too, postponed runs wait for [`Clockwork::expire_backoffs`].
pub(super) fn scheduler(
    fixture: &Catalogue,
    signals: Signals,
    manager: Arc<dyn ProjectManager>,
) -> Scheduler {
    let (store, clock) = (fixture.world.store.clone(), fixture.world.clock.clone());
    let handoffs = HandoffService::new(
        store.clone(),
        clock,
        signals.clone(),
        manager,
        HandoffOptions::default(),
    );
    let hour = Duration::from_hours(1);
    let patient = SchedulerOptions { lease: hour, pause: hour };
    Scheduler::new(store, signals, fixture.tasks.clone(), handoffs).with(patient)
}

/// A request for a schedule with a command, with these fields added or replaced.
pub(super) fn commands(more: &Value) -> Value {
    let task = json!({ "input_mode": "commands", "commands": ["true"] });
    let mut request = json!({ "name": "build", "every_s": 3600, "task": task });
    for (key, value) in more.as_object().unwrap() {
        request[key] = value.clone();
    }
    request
}
