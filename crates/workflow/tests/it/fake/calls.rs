//! The calls of the fake orchestrator.

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::status::JobStatus;
use cynode_domain::verdict::{Finding, FindingStatus, Verdict, VerdictStatus};
use cynode_wire::continuing::{ContinuationView, ContinueRun};
use cynode_wire::jobs::{JobResult, JobView, Truncated};
use cynode_wire::planning::{PlanRun, PlanningView};
use cynode_wire::replanning::{ReplanStep, ReplanView};
use cynode_wire::steering::{AskPerson, SavedView};
use cynode_wire::workflow::{
    CheckpointView, ClaimRun, DispatchStep, GrantView, Hold, RecordEffect, ReleaseLease,
    RenewLease, SaveCheckpoint, TaskContextView, VerificationView, VerifyStep,
};
use cynode_workflow::orchestrator::{CallError, Leases, RunCalls};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{Attempt, Fake, Job, Moment, World};

impl Fake {
    /// Counts a call, and refuses it while the orchestrator is away.
    fn called(&self, method: &'static str) -> Result<(), CallError> {
        let mut world = self.world();
        *world.calls.entry(method).or_default() += 1;
        if world.away.contains(&method) {
            return Err(CallError::Unavailable("no answer".to_owned()));
        }
        if world.refusing.contains(&method) {
            return Err(CallError::Refused("it is not allowed".to_owned()));
        }
        Ok(())
    }

    /// Dies here, if this is the moment: the caller never hears back.
    async fn moment(&self, moment: Moment) {
        let dies = {
            let mut world = self.world();
            let seen = world.moments.entry(moment).or_default();
            *seen += 1;
            let seen = *seen;
            world.crash == Some((moment, seen))
        };
        if dies {
            self.world().crash = None;
            self.died.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

impl World {
    fn fence(&self, hold: Hold) -> Result<(), CallError> {
        if self.lease == Some(hold.lease_id) && self.epoch == hold.epoch {
            return Ok(());
        }
        Err(CallError::Fenced("the lease is held by another".to_owned()))
    }

    fn goes(&self, job: &Job) -> Attempt {
        self.attempts.get(&(job.step, job.attempt)).cloned().unwrap_or_else(Attempt::good)
    }

    /// The whole state after a transition, as the orchestrator rebuilds it.
    fn state_after(&self, body: &SaveCheckpoint) -> Value {
        match (&body.state, &body.changes) {
            (Some(whole), None) => whole.clone(),
            (None, Some(changes)) => {
                let mut state = self.checkpoint.as_ref().unwrap().state.clone();
                changes.clone().apply(&mut state).unwrap();
                state
            }
            other => panic!("neither a state nor changes: {other:?}"),
        }
    }

    fn is_finished(&self) -> bool {
        self.history.last().is_some_and(|save| save.finish.is_some())
    }
}

#[async_trait]
impl Leases for Fake {
    async fn claim(&self, body: &ClaimRun) -> Result<Vec<GrantView>, CallError> {
        self.called("claim")?;
        let until = Instant::now() + Duration::from_millis(body.wait_ms.into());
        loop {
            let runnable = {
                let world = self.world();
                let waits =
                    world.question.is_some() || (world.is_paused && world.checkpoint.is_some());
                world.lease.is_none() && world.put_down.is_none() && !waits && !world.is_finished()
            };
            if runnable {
                return Ok(vec![self.grant()]);
            }
            if Instant::now() >= until {
                return Ok(vec![]);
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    async fn renew(&self, body: &RenewLease) -> Result<(), CallError> {
        self.called("renew")?;
        self.world().fence(body.hold)
    }

    async fn release(&self, body: &ReleaseLease) -> Result<(), CallError> {
        self.called("release")?;
        let mut world = self.world();
        if world.fence(body.hold).is_ok() {
            world.put_down.clone_from(&body.reason);
            world.lease = None;
        }
        Ok(())
    }
}

#[async_trait]
impl RunCalls for Fake {
    async fn task(&self, task: TaskId) -> Result<TaskContextView, CallError> {
        self.called("task")?;
        let world = self.world();
        assert_eq!(task, world.task.task_id);
        Ok(world.task.clone())
    }

    async fn dispatch(&self, body: &DispatchStep) -> Result<JobId, CallError> {
        self.called("dispatch")?;
        let id = {
            let mut world = self.world();
            world.fence(body.hold)?;
            let same = |job: &Job| (job.step, job.attempt) == (body.step_index, body.attempt);
            let known = world.jobs.iter().find(|(_, job)| same(job)).map(|(id, _)| *id);
            known.unwrap_or_else(|| {
                let id = JobId::generate();
                let (step, attempt) = (body.step_index, body.attempt);
                world.jobs.insert(id, Job { step, attempt, made: Instant::now() });
                world.dispatched.push(body.step.action.clone());
                id
            })
        };
        self.moment(Moment::AfterDispatch).await;
        Ok(id)
    }

    async fn job(&self, id: JobId, wait_ms: u32) -> Result<JobView, CallError> {
        self.called("job")?;
        let (job, takes) = {
            let world = self.world();
            (world.jobs[&id], world.job_takes)
        };
        let left = takes.saturating_sub(job.made.elapsed());
        sleep(left.min(Duration::from_millis(wait_ms.into()))).await;
        let world = self.world();
        Ok(view(&world, id, &job, job.made.elapsed() >= takes))
    }

    async fn verify(&self, body: &VerifyStep) -> Result<VerificationView, CallError> {
        self.called("verify")?;
        let (status, left) = {
            let mut world = self.world();
            world.fence(body.hold)?;
            let job = world.jobs[&body.job_id];
            world.judged.push((job.step, body.criteria.clone()));
            (world.goes(&job).verdict, world.verdict_takes.saturating_sub(job.made.elapsed()))
        };
        let wait = Duration::from_millis(body.wait_ms.into());
        sleep(left.min(wait)).await;
        if left > wait {
            let waiting_for = Some("an analyst".to_owned());
            return Ok(VerificationView { verdict: None, waiting_for });
        }
        self.moment(Moment::AfterVerify).await;
        let met = status == VerdictStatus::Pass;
        let code = if met { 0 } else { 3 };
        let unchecked = || Finding::unchecked("it is short (no model)");
        let unclear =
            || Finding { status: FindingStatus::Unclear, ..Finding::unchecked("it reads well") };
        let open = match status {
            VerdictStatus::Unclear => vec![unclear(), unchecked()],
            VerdictStatus::Unverified => vec![unchecked()],
            VerdictStatus::Pass | VerdictStatus::Fail => vec![],
        };
        let ended = Finding::of("exit_code", met, format!("the command exited with code {code}"));
        let findings = if open.is_empty() { vec![ended] } else { open };
        Ok(Verdict { status, findings, recommended_actions: vec![] }.into())
    }

    async fn continuation(&self, body: &ContinueRun) -> Result<ContinuationView, CallError> {
        self.called("continuation")?;
        let mut world = self.world();
        world.fence(body.hold)?;
        world.continued.push(body.continued);
        let nobody = || ContinuationView::NoManager { reason: "nobody is there".to_owned() };
        Ok(world.continuation.clone().unwrap_or_else(nobody))
    }

    async fn plan(&self, body: &PlanRun) -> Result<PlanningView, CallError> {
        self.called("plan")?;
        let world = self.world();
        world.fence(body.hold)?;
        let nobody = || PlanningView::NoPlanner { reason: "Nobody is there".to_owned() };
        Ok(world.plan.clone().unwrap_or_else(nobody))
    }

    async fn replan(&self, body: &ReplanStep) -> Result<ReplanView, CallError> {
        self.called("replan")?;
        let mut world = self.world();
        world.fence(body.hold)?;
        let nobody = || ReplanView::Kept { reason: "nobody is there".to_owned() };
        Ok(world.replans.pop_front().unwrap_or_else(nobody))
    }

    async fn checkpoint(&self, body: &SaveCheckpoint) -> Result<(), CallError> {
        self.called("checkpoint")?;
        self.moment(Moment::BeforeSave).await;
        {
            let mut world = self.world();
            // The last transition gave up the lease, and may still be sent again.
            if world.history.last().is_some_and(|save| is_same(save, body)) {
                return Ok(());
            }
            world.fence(body.hold)?;
            let stored = world.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.sequence);
            if body.sequence != stored + 1 {
                return Err(CallError::Refused(format!("{} after {stored}", body.sequence)));
            }
            let state = world.state_after(body);
            world.checkpoint = Some(CheckpointView {
                task_id: body.hold.task_id,
                state,
                last_node_id: body.last_node_id.clone(),
                edge: body.edge.clone(),
                sequence: body.sequence,
                updated_at: DateTime::<Utc>::UNIX_EPOCH,
            });
            world.effects.clear();
            world.history.push(body.clone());
            if body.finish.is_some() {
                world.lease = None;
            }
            if world.lost_answers > 0 {
                world.lost_answers -= 1;
                return Err(CallError::Unavailable("connection reset".to_owned()));
            }
        }
        self.moment(Moment::AfterSave).await;
        Ok(())
    }

    async fn save(&self, body: &SaveCheckpoint) -> Result<SavedView, CallError> {
        self.checkpoint(body).await?;
        Ok(SavedView { pause: self.world().is_paused })
    }

    async fn ask(&self, body: &AskPerson) -> Result<(), CallError> {
        self.called("ask")?;
        let mut world = self.world();
        world.fence(body.hold)?;
        world.question = Some(body.clone());
        world.lease = None;
        Ok(())
    }

    async fn effect(&self, body: &RecordEffect) -> Result<(), CallError> {
        self.called("effect")?;
        {
            let mut world = self.world();
            world.fence(body.hold)?;
            world.effects.retain(|effect| effect.key != body.effect.key);
            world.effects.push(body.effect.clone());
        }
        self.moment(Moment::AfterRecord).await;
        Ok(())
    }
}

/// Whether two transitions are the same one, sent twice.
fn is_same(one: &SaveCheckpoint, other: &SaveCheckpoint) -> bool {
    serde_json::to_value(one).unwrap() == serde_json::to_value(other).unwrap()
}

fn view(world: &World, id: JobId, job: &Job, has_ended: bool) -> JobView {
    let goes = world.goes(job);
    let result = JobResult {
        ending: goes.ending,
        stdout: "out".to_owned(),
        stderr: String::new(),
        truncated: Truncated::default(),
    };
    JobView {
        id,
        task_id: world.task.task_id,
        step_index: job.step,
        attempt: job.attempt,
        check: None,
        exec: None,
        status: if has_ended { goes.status } else { JobStatus::Running },
        node_id: None,
        result: has_ended.then_some(result),
        created_at: DateTime::<Utc>::UNIX_EPOCH,
        started_at: None,
        ended_at: None,
    }
}
