//! An installation whose project manager makes the tasks that schedules want.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::TimeDelta;
use cynode_domain::ids::{ScheduleId, TaskId};
use cynode_domain::schedule::ScheduleRunStatus;
use cynode_ops::agents::AgentTokens;
use cynode_ops::handoff::{
    ChatEvents, HandoffError, HandoffOptions, Handoffs, Nobody, ProjectManager,
};
use cynode_ops::schedules::{Scheduler, SchedulerOptions, Schedules};
use cynode_ops::{Signals, Tasks};
use cynode_store::{
    DueStore, Error, ScheduleClaim, ScheduleRunStore, ScheduleStore, TaskFilter, TaskStore,
};
use cynode_wire::handoff::HandoffKind;
use cynode_wire::page::PageQuery;
use cynode_wire::schedules::{CreateSchedule, ScheduleRunView, ScheduleView};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::catalogue::Catalogue;

/// Makes one task for each schedule that is handed to it, as its tool would, and another one each time it
/// is asked, as a model might; what it says then can be told.
pub(super) struct Manager {
    tasks: Tasks,
    agents: AgentTokens,
    pub(super) handed: Mutex<Vec<Value>>,
    /// What it says instead of an answer, last first.
    pub(super) fails: Mutex<Vec<HandoffError>>,
    /// Whether it makes its tasks before it fails.
    pub(super) makes_first: bool,
}

#[async_trait]
impl ProjectManager for Manager {
    fn is_configured(&self) -> bool {
        true
    }

    async fn hand(
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

    async fn chat(&self, _: Value, _: Duration) -> Result<ChatEvents, HandoffError> {
        Err(HandoffError::Away("only schedules here".to_owned()))
    }
}

pub(super) struct Clockwork {
    pub(super) its: Catalogue,
    pub(super) schedules: Schedules,
    pub(super) scheduler: Scheduler,
    pub(super) manager: Arc<Manager>,
    pub(super) signals: Signals,
}

impl Clockwork {
    pub(super) async fn new() -> Self {
        Self::with(vec![], false).await
    }

    /// With a project manager that fails like this, last first.
    pub(super) async fn with(fails: Vec<HandoffError>, makes_first: bool) -> Self {
        let its = Catalogue::new().await;
        let signals = its.world.signals();
        let manager = Arc::new(Manager {
            tasks: its.tasks.clone(),
            agents: its.world.agents.clone(),
            handed: Mutex::default(),
            fails: Mutex::new(fails),
            makes_first,
        });
        Self {
            scheduler: scheduler(&its, signals.clone(), manager.clone()),
            schedules: Schedules::new(its.world.store.clone(), signals.clone()),
            its,
            signals,
            manager,
        }
    }

    /// The same without anybody to hand work to.
    pub(super) async fn alone() -> Self {
        let mut clockwork = Self::new().await;
        let signals = clockwork.signals.clone();
        clockwork.scheduler = scheduler(&clockwork.its, signals, Arc::new(Nobody));
        clockwork
    }

    pub(super) async fn make(&self, request: Value) -> ScheduleView {
        let request: CreateSchedule = serde_json::from_value(request).unwrap();
        self.schedules.create(self.its.bob(), request).await.unwrap()
    }

    /// Prose that is due every hour.
    pub(super) async fn prose(&self) -> ScheduleView {
        self.make(json!({ "name": "Nightly", "every_s": 3600, "prompt": "tidy up" })).await
    }

    /// Lets the time of a schedule have come so many seconds ago.
    pub(super) async fn comes_due(&self, schedule: ScheduleId, seconds_ago: i64) {
        let changed: Result<(), Error> = self
            .its
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

    /// Ends the pause before a run is tried again.
    pub(super) async fn patience_ends(&self, run: &ScheduleRunView) {
        let claim = ScheduleClaim { run: run.id, attempt: run.attempts };
        let waiting = ScheduleRunStatus::Claimed;
        let ended: Result<bool, Error> = self
            .its
            .world
            .store
            .write(move |tx| Box::pin(async move { tx.schedule_run_keep(claim, waiting, 0).await }))
            .await;
        assert!(ended.unwrap());
    }

    pub(super) async fn activate(&self) {
        self.scheduler.activate().await.unwrap();
    }

    /// What came of a schedule, newest first.
    pub(super) async fn runs(&self, schedule: ScheduleId) -> Vec<ScheduleRunView> {
        let (bob, page) = (self.its.bob(), PageQuery::default());
        self.schedules.runs(bob, &schedule.to_string(), &page).await.unwrap().items
    }

    /// The same of the one with this name.
    pub(super) async fn named(&self, schedule: &str) -> Vec<ScheduleRunView> {
        let (bob, page) = (self.its.bob(), PageQuery::default());
        self.schedules.runs(bob, schedule, &page).await.unwrap().items
    }

    /// What was told about schedules, and by whom it was done.
    pub(super) async fn events(&self) -> Vec<(String, Value)> {
        let events = self.its.world.events(None).await.into_iter();
        let events = events.filter(|event| event.kind.starts_with("schedule."));
        events.map(|event| (event.kind.clone(), event.data["by"].clone())).collect()
    }

    /// Every task of bob's but the one that was there before.
    pub(super) async fn tasks(&self) -> Vec<TaskId> {
        let first = self.its.task.id;
        let tasks: Result<Vec<_>, Error> = self
            .its
            .world
            .store
            .read(|tx| {
                Box::pin(async move {
                    let filter = TaskFilter { limit: 50, ..TaskFilter::default() };
                    tx.task_list(&filter).await
                })
            })
            .await;
        tasks.unwrap().into_iter().map(|task| task.asked.id).filter(|id| *id != first).collect()
    }

    /// What asked for a task, as its first event says.
    pub(super) async fn trigger(&self, task: TaskId) -> Value {
        let mut events = self.its.world.events(Some(task)).await.into_iter();
        let created = events.find(|event| event.kind == "task.created");
        created.unwrap().data["trigger"].clone()
    }
}

/// Takes what is handed to it, and never answers.
#[derive(Default)]
pub(super) struct Stuck {
    /// Tells that it has something in its hands.
    pub(super) begun: Notify,
}

#[async_trait]
impl ProjectManager for Stuck {
    fn is_configured(&self) -> bool {
        true
    }

    async fn hand(&self, _: HandoffKind, _: Value, _: Duration) -> Result<Value, HandoffError> {
        self.begun.notify_one();
        std::future::pending().await
    }

    async fn chat(&self, _: Value, _: Duration) -> Result<ChatEvents, HandoffError> {
        std::future::pending().await
    }
}

/// A scheduler that hears these signals. No claim and no pause of it ends by itself: however slow the
/// machine is, what is put off waits for [`Clockwork::patience_ends`].
pub(super) fn scheduler(
    its: &Catalogue,
    signals: Signals,
    manager: Arc<dyn ProjectManager>,
) -> Scheduler {
    let (store, clock) = (its.world.store.clone(), its.world.clock.clone());
    let of = (store.clone(), clock as cynode_runtime::clock::SharedClock, signals.clone());
    let handoffs = Handoffs::new(of, manager, HandoffOptions::default());
    let hour = Duration::from_hours(1);
    let patient = SchedulerOptions { lease: hour, pause: hour };
    Scheduler::new((store, signals), its.tasks.clone(), handoffs).with(patient)
}

/// A request for a schedule of a command, with these fields beside or instead of its own.
pub(super) fn commands(more: &Value) -> Value {
    let task = json!({ "input_mode": "commands", "commands": ["true"] });
    let mut request = json!({ "name": "build", "every_s": 3600, "task": task });
    for (key, value) in more.as_object().unwrap() {
        request[key] = value.clone();
    }
    request
}
