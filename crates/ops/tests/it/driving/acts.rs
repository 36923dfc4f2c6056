//! Applies each act to the store and to the model, and compares the results.

use cynode_blobs::BlobStore;
use cynode_domain::ids::{HolderId, TaskId};
use cynode_domain::job::Action;
use cynode_domain::plan::Step;
use cynode_execution::{TaskService, WorkflowError, WorkflowService};
use cynode_resources::Signals;
use cynode_runs::RunOperations;
use cynode_testkit::query;
use cynode_wire::workflow::{
    ClaimRun, DispatchStep, EffectView, Finish, GrantView, LeaseToken, Outcome, RecordEffect,
    ReleaseLease, RenewLease, SaveCheckpoint, StartRun, StartStatus,
};
use serde_json::json;

use super::model::ModelTask;
use super::{DrivingAct, TASKS};
use crate::world::World;

/// An installation with random task histories, one set after another.
pub(super) struct DrivingFixture {
    pub(super) world: World,
    tasks: TaskService,
    pub(super) workflow: WorkflowService,
    pub(super) steering: RunOperations,
    runners: Vec<HolderId>,
}

/// One set of tasks.
pub(super) struct DrivingCase<'a> {
    pub(super) driven: &'a DrivingFixture,
    pub(super) ids: Vec<TaskId>,
    pub(super) tasks: Vec<ModelTask>,
    /// Every grant ever made: whose it is, of which task, and the proof of it.
    pub(super) grants: Vec<(usize, usize, LeaseToken)>,
}

impl DrivingFixture {
    pub(super) async fn new() -> Self {
        let world = World::new().await;
        let (store, clock) = (world.store.clone(), world.clock.clone());
        let signals = Signals::new(store.engine());
        let blobs = BlobStore::new(world.data.path().join("blobs"));
        Self {
            tasks: TaskService::new(store.clone(), clock.clone(), signals.clone(), blobs),
            workflow: WorkflowService::new(store.clone(), clock.clone(), signals.clone()),
            steering: RunOperations::new(store, clock, signals),
            runners: (0..3).map(|_| HolderId::generate()).collect(),
            world,
        }
    }

    /// Applies all acts.
    pub(super) async fn live(&self, acts: &[DrivingAct]) {
        let mut life = DrivingCase {
            driven: self,
            ids: vec![],
            tasks: (0..TASKS).map(|_| ModelTask::default()).collect(),
            grants: vec![],
        };
        // A failed case leaves tasks behind, which the next one must not see.
        self.query("UPDATE runs SET runnable = 0").await;
        let body = json!({ "input_mode": "commands", "commands": ["true"] });
        for _ in 0..TASKS {
            let body = serde_json::from_value(body.clone()).unwrap();
            life.ids.push(self.tasks.create(&self.world.admin, body).await.unwrap().id);
        }
        for act in acts {
            life.act(*act).await;
            life.compare().await;
        }
        for task in 0..TASKS {
            life.cancel(task).await;
        }
    }

    /// The run of a task.
    pub(super) async fn run_of(&self, task: TaskId) -> String {
        let sql = format!("SELECT id FROM runs WHERE task_id = '{task}'");
        self.query(&sql).await.concat().concat()
    }

    async fn query(&self, sql: &str) -> Vec<Vec<String>> {
        query(&self.world.database.url, sql).await
    }
}

impl DrivingCase<'_> {
    async fn act(&mut self, act: DrivingAct) {
        match act {
            DrivingAct::Claim { runner } => self.claim(runner).await,
            DrivingAct::Start { runner, task } => self.start(runner, task).await,
            DrivingAct::Expire { task } => self.expire(task).await,
            DrivingAct::Person { task, verb } => self.person(task, verb).await,
            DrivingAct::Renew { grant }
            | DrivingAct::Save { grant }
            | DrivingAct::SaveAgain { grant }
            | DrivingAct::Skip { grant }
            | DrivingAct::Finish { grant, .. }
            | DrivingAct::Effect { grant, .. }
            | DrivingAct::Dispatch { grant, .. }
            | DrivingAct::Release { grant }
            | DrivingAct::Ask { grant }
            | DrivingAct::PutDown { grant } => {
                let made = self.grants.len();
                if made > 0 {
                    self.hold(act, made - 1 - grant % made).await;
                }
            }
        }
    }

    async fn claim(&mut self, runner: usize) {
        let (holder_id, lease_ms) = (self.driven.runners[runner], Some(600_000));
        let body = ClaimRun { holder_id, lease_ms, wait_ms: 0, max: None, graph_versions: None };
        let grant = self.driven.workflow.claim(&body).await.unwrap().grant;
        let expected = self.tasks.iter().position(ModelTask::is_claimable);
        let found = grant.as_ref().map(|grant| grant.lease.task_id);
        assert_eq!(found, expected.map(|task| self.ids[task]), "the oldest that is free");
        if let (Some(grant), Some(task)) = (grant, expected) {
            self.granted(runner, task, &grant);
        }
    }

    async fn start(&mut self, runner: usize, task: usize) {
        let body = StartRun {
            task_id: self.ids[task],
            holder_id: self.driven.runners[runner],
            lease_ms: Some(600_000),
            graph_versions: None,
        };
        let started = self.driven.workflow.start(&body).await;
        let model = &self.tasks[task];
        let driver = model.driver.map(|grant| self.grants[grant]);
        match (model.closed, driver) {
            (Some(_), _) => assert!(matches!(started, Err(WorkflowError::StartDenied { .. }))),
            (None, _) if model.waits_for_people() => {
                assert!(matches!(started, Err(WorkflowError::StartDenied { .. })), "{started:?}");
            }
            (None, None) => {
                let grant = started.unwrap();
                assert_eq!(grant.status, StartStatus::Started);
                self.granted(runner, task, &grant);
            }
            (None, Some((same, _, lease))) if same == runner => {
                let grant = started.unwrap();
                assert_eq!((grant.status, grant.lease), (StartStatus::AlreadyRunning, lease));
            }
            (None, Some((other, ..))) => {
                let Err(WorkflowError::LeasedElsewhere { holder }) = started else {
                    panic!("{started:?}")
                };
                assert_eq!(holder, self.driven.runners[other]);
            }
        }
    }

    /// A grant was made: it has everything that was done, and a higher epoch than all before.
    fn granted(&mut self, runner: usize, task: usize, grant: &GrantView) {
        let model = &mut self.tasks[task];
        assert!(grant.lease.epoch > model.epoch, "the epoch did not grow");
        let checkpoint = grant.checkpoint.as_ref();
        assert_eq!(checkpoint.map_or(0, |checkpoint| checkpoint.sequence), model.sequence);
        let state = checkpoint.map(|checkpoint| &checkpoint.state["saved"]);
        assert_eq!(state, (model.sequence > 0).then(|| json!(model.sequence)).as_ref());
        let keys: Vec<_> = grant.effects.iter().map(|effect| &effect.key).collect();
        assert_eq!(keys, model.effects.keys().collect::<Vec<_>>());
        for (effect, known) in grant.effects.iter().zip(model.effects.values()) {
            assert!(known.is_none_or(|answer| effect.answer == json!(answer)), "{effect:?}");
        }
        model.grant(self.grants.len());
        model.epoch = grant.lease.epoch;
        self.grants.push((runner, task, grant.lease));
    }

    async fn expire(&mut self, task: usize) {
        let id = self.ids[task];
        let sql = format!(
            "UPDATE task_workflow_leases SET expires_at = 1
             WHERE task_id = '{id}' AND holder_id IS NOT NULL"
        );
        self.driven.query(&sql).await;
        self.tasks[task].driver = None;
    }

    pub(super) async fn cancel(&mut self, task: usize) {
        let (id, model) = (self.ids[task].to_string(), &mut self.tasks[task]);
        let canceled =
            self.driven.tasks.cancel(&self.driven.world.admin, &id.as_str().into()).await;
        match model.closed {
            Some("completed" | "failed") => drop(canceled.unwrap_err()),
            Some(_) => drop(canceled.unwrap()),
            None => {
                canceled.unwrap();
                model.close("canceled");
                model.epoch += 1;
            }
        }
    }

    /// What the holder of a grant does, whether the lease is still valid or not.
    async fn hold(&mut self, act: DrivingAct, grant: usize) {
        let (_, task, lease) = self.grants[grant];
        let workflow = &self.driven.workflow;
        let model = &mut self.tasks[task];
        let may_write = model.driver == Some(grant);
        let next = model.sequence + 1;
        match act {
            DrivingAct::Renew { .. } => {
                let body = RenewLease::new(lease, Some(600_000));
                expect(workflow.renew(&body).await, may_write);
            }
            DrivingAct::Save { .. } => {
                let saved = workflow.checkpoint(save(lease, next)).await;
                let is_told = saved.as_ref().is_ok_and(|saved| saved.pause);
                assert_eq!(is_told, may_write && model.is_paused, "told to pause: {saved:?}");
                expect(saved.map(drop), may_write);
                if may_write {
                    model.save(grant);
                }
            }
            DrivingAct::SaveAgain { .. } if model.last_saver == Some(grant) => {
                workflow.checkpoint(self.last(task, lease)).await.unwrap();
            }
            DrivingAct::Skip { .. } => {
                let refused = workflow.checkpoint(save(lease, next + 1)).await.unwrap_err();
                let is_late = matches!(refused, WorkflowError::Fenced(_));
                assert_eq!(is_late, !may_write, "{refused:?}");
            }
            DrivingAct::Finish { is_well, .. } => {
                let ended = workflow.checkpoint(finish(lease, next, is_well)).await;
                expect(ended.map(drop), may_write);
                if may_write {
                    model.save(grant);
                    model.close(if is_well { "completed" } else { "failed" });
                }
            }
            DrivingAct::Effect { key, .. } => {
                let (key, answer) = (format!("{next}/{key}"), grant);
                let effect = EffectView { key: key.clone(), answer: json!(answer) };
                expect(workflow.effect(RecordEffect { lease, effect }).await, may_write);
                if may_write && model.keys.insert(key.clone()) {
                    model.effects.insert(key, Some(answer));
                }
            }
            DrivingAct::Dispatch { step, .. } => {
                expect(workflow.dispatch(dispatch(lease, step)).await.map(drop), may_write);
                if may_write {
                    model.steps.insert(step);
                }
            }
            DrivingAct::Ask { .. } => self.ask(grant).await,
            DrivingAct::Release { .. } => self.release(grant, ReleaseLease::new(lease)).await,
            DrivingAct::PutDown { .. } => {
                let reason = Some("the oven is cold".to_owned());
                let body = ReleaseLease { reason, ..ReleaseLease::new(lease) };
                self.release(grant, body).await;
                if may_write {
                    self.leave_alone(task).await;
                }
            }
            DrivingAct::SaveAgain { .. }
            | DrivingAct::Claim { .. }
            | DrivingAct::Start { .. }
            | DrivingAct::Expire { .. }
            | DrivingAct::Person { .. } => {}
        }
    }

    /// Suspending without the lease has no effect and is no error.
    async fn release(&mut self, grant: usize, body: ReleaseLease) {
        let model = &mut self.tasks[self.grants[grant].1];
        self.driven.workflow.release(body).await.unwrap();
        if model.driver == Some(grant) {
            model.driver = None;
        }
    }

    /// A suspended run is not claimed again within one case, also on a slow machine.
    async fn leave_alone(&mut self, task: usize) {
        let id = self.ids[task];
        let sql = format!(
            "UPDATE runs SET not_before = 9000000000000000
             WHERE task_id = '{id}' AND not_before IS NOT NULL"
        );
        self.driven.query(&sql).await;
        self.tasks[task].is_put_down = true;
    }

    /// The request that made the last transition.
    fn last(&self, task: usize, lease: LeaseToken) -> SaveCheckpoint {
        let ModelTask { sequence, closed, .. } = self.tasks[task];
        match closed {
            Some("completed") => finish(lease, sequence, true),
            Some("failed") => finish(lease, sequence, false),
            _ => save(lease, sequence),
        }
    }

    /// The rows match the model.
    async fn compare(&self) {
        for (id, model) in self.ids.iter().zip(&self.tasks) {
            let sql = format!(
                "SELECT (SELECT count(*) FROM workflow_history WHERE task_id = '{id}'),
                        (SELECT count(*) FROM jobs WHERE task_id = '{id}'),
                        (SELECT count(*) FROM workflow_effects e JOIN runs r ON r.id = e.run_id
                            WHERE r.task_id = '{id}'),
                        (SELECT count(*) FROM task_workflow_leases l WHERE l.task_id = '{id}'
                            AND l.holder_id IS NOT NULL AND l.expires_at > 1),
                        (SELECT status FROM tasks WHERE id = '{id}' AND closed)"
            );
            let numbers = [
                usize::try_from(model.sequence).unwrap(),
                model.steps.len(),
                model.keys.len(),
                usize::from(model.driver.is_some()),
            ];
            let mut expected = numbers.map(|number| number.to_string()).to_vec();
            expected.push(model.closed.unwrap_or_default().to_owned());
            assert_eq!(self.driven.query(&sql).await, [expected]);
        }
    }
}

/// Either done, or refused because the lease is not in force.
#[track_caller]
pub(super) fn expect(outcome: Result<(), WorkflowError>, may_write: bool) {
    match outcome {
        Ok(()) => assert!(may_write, "a stale holder wrote"),
        Err(WorkflowError::Fenced(_)) => assert!(!may_write, "the driver was refused"),
        Err(error) => panic!("{error}"),
    }
}

fn save(lease: LeaseToken, sequence: i64) -> SaveCheckpoint {
    SaveCheckpoint {
        lease,
        sequence,
        last_node_id: "plan_steps".to_owned(),
        edge: "next".to_owned(),
        state: Some(json!({ "saved": sequence })),
        changes: None,
        duration_ms: 1,
        lease_ms: Some(600_000),
        step_index: None,
        job_id: None,
        finish: None,
    }
}

fn finish(lease: LeaseToken, sequence: i64, is_well: bool) -> SaveCheckpoint {
    let outcome = if is_well { Outcome::Completed } else { Outcome::Failed };
    let finish = Some(Finish { outcome, summary: "It is over.".to_owned(), verification: None });
    SaveCheckpoint { finish, ..save(lease, sequence) }
}

fn dispatch(lease: LeaseToken, step_index: u32) -> DispatchStep {
    let action = Action::Command { line: "true".to_owned() };
    let step = Step::new(action);
    DispatchStep { lease, step_index, attempt: 1, step }
}
