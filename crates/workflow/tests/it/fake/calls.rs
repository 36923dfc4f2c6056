//! The calls of the fake orchestrator. Requests and responses pass as JSON, as over HTTP; a call that it does
//! not know fails the test.

use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_client::{ClientError, EncodedRequest, FullResponse};
use cynode_domain::ids::JobId;
use cynode_domain::status::JobStatus;
use cynode_domain::verdict::{Finding, FindingStatus, Verdict, VerdictStatus};
use cynode_wire::continuing::{ContinuationView, ContinueRun};
use cynode_wire::jobs::{JobResult, JobView, Truncated};
use cynode_wire::planning::{PlanRun, PlanningView};
use cynode_wire::problem::Problem;
use cynode_wire::replanning::{ReplanStep, ReplanView};
use cynode_wire::run_suspension::{CheckpointAckView, SuspendForQuestion};
use cynode_wire::runner_calls::{CallMethod, NoContent, RunnerRequest};
use cynode_wire::workflow::{
    CheckpointView, ClaimRun, ClaimView, DispatchStep, DispatchedView, LeaseToken, LoadTask,
    PollJob, RecordEffect, ReleaseLease, RenewLease, SaveCheckpoint, TaskContextView,
    VerificationView, VerifyStep,
};
use cynode_workflow::orchestrator_api::OrchestratorConnection;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{CrashPoint, FakeAttempt, FakeJob, FakeOrchestrator, FakeRunState};

impl FakeOrchestrator {
    /// Counts a call; fails it if the method is unavailable or rejecting.
    fn count_call(&self, method: &'static str) -> Result<(), ClientError> {
        let mut world = self.lock_state();
        *world.calls.entry(method).or_default() += 1;
        if world.unavailable.contains(&method) {
            return Err(refusal(503, "no answer"));
        }
        if world.rejecting.contains(&method) {
            return Err(refusal(403, "it is not allowed"));
        }
        Ok(())
    }

    /// Crashes here if this is the scripted point: the call never returns.
    async fn crash_if_scripted(&self, moment: CrashPoint) {
        let dies = {
            let mut world = self.lock_state();
            let seen = world.moments.entry(moment).or_default();
            *seen += 1;
            let seen = *seen;
            world.crash == Some((moment, seen))
        };
        if dies {
            self.lock_state().crash = None;
            self.died.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

impl FakeRunState {
    fn fence(&self, lease: LeaseToken) -> Result<(), ClientError> {
        if self.lease == Some(lease.lease_id) && self.epoch == lease.epoch {
            return Ok(());
        }
        Err(refusal(409, "the lease is held by another"))
    }

    fn attempt_for(&self, job: &FakeJob) -> FakeAttempt {
        self.attempts.get(&(job.step, job.attempt)).cloned().unwrap_or_else(FakeAttempt::good)
    }

    /// The full state after a transition, as the orchestrator rebuilds it.
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

/// A rejection, as the orchestrator sends it.
fn refusal(status: u16, detail: &str) -> ClientError {
    let (kind, title, detail) = (String::new(), String::new(), detail.to_owned());
    ClientError::Refused(Box::new(Problem {
        kind,
        title,
        status,
        detail,
        instance: None,
        errors: vec![],
    }))
}

/// Decodes a request, as the orchestrator does: unknown and missing fields fail the test.
fn decode_request<R: RunnerRequest + DeserializeOwned>(request: &EncodedRequest) -> R {
    assert_eq!((request.method, request.path), (CallMethod::Post, R::PATH));
    serde_json::from_slice(&request.body).unwrap()
}

/// Encodes the response to a request of type `R`.
fn respond<R: RunnerRequest<Response: Serialize>>(
    response: Result<R::Response, ClientError>,
) -> Result<FullResponse, ClientError> {
    let response = serde_json::to_value(response?).unwrap();
    if response == json!({}) {
        return Ok(FullResponse { status: 204, body: b"".as_slice().into() });
    }
    Ok(FullResponse { status: 200, body: serde_json::to_vec(&response).unwrap().into() })
}

/// The path parameter of a request.
fn path_parameter<T: std::str::FromStr<Err: std::fmt::Debug>>(request: &EncodedRequest) -> T {
    request.path_parameter.as_deref().unwrap().parse().unwrap()
}

#[async_trait]
impl OrchestratorConnection for FakeOrchestrator {
    fn base_url(&self) -> &'static str {
        "http://fake"
    }

    async fn send(&self, request: &EncodedRequest) -> Result<FullResponse, ClientError> {
        macro_rules! serve {
            ($request:ty, $serve:ident) => {
                respond::<$request>(self.$serve(&decode_request::<$request>(request)))
            };
            ($request:ty, await $serve:ident) => {
                respond::<$request>(self.$serve(&decode_request::<$request>(request)).await)
            };
        }
        match request.path {
            ClaimRun::PATH => serve!(ClaimRun, await claim_runs),
            RenewLease::PATH => serve!(RenewLease, renew_lease),
            ReleaseLease::PATH => serve!(ReleaseLease, release_lease),
            LoadTask::PATH => {
                let load = LoadTask { task_id: path_parameter(request) };
                respond::<LoadTask>(self.load_task(&load))
            }
            DispatchStep::PATH => serve!(DispatchStep, await dispatch_step),
            PollJob::PATH => {
                let wait_ms = request.query[0].1.parse().unwrap();
                let poll = PollJob { job_id: path_parameter(request), wait_ms };
                respond::<PollJob>(self.poll_job(&poll).await)
            }
            VerifyStep::PATH => serve!(VerifyStep, await verify_step),
            ContinueRun::PATH => serve!(ContinueRun, decide_continuation),
            PlanRun::PATH => serve!(PlanRun, plan_prompt),
            ReplanStep::PATH => serve!(ReplanStep, replan_step),
            SaveCheckpoint::PATH => serve!(SaveCheckpoint, await save_checkpoint),
            SuspendForQuestion::PATH => serve!(SuspendForQuestion, ask_person),
            RecordEffect::PATH => serve!(RecordEffect, await record_effect),
            path => panic!("the fake orchestrator does not serve {path}"),
        }
    }
}

impl FakeOrchestrator {
    async fn claim_runs(&self, body: &ClaimRun) -> Result<ClaimView, ClientError> {
        self.count_call("claim")?;
        let until = Instant::now() + Duration::from_millis(body.wait_ms.into());
        loop {
            let runnable = {
                let world = self.lock_state();
                let waits =
                    world.question.is_some() || (world.is_paused && world.checkpoint.is_some());
                world.lease.is_none()
                    && world.suspend_reason.is_none()
                    && !waits
                    && !world.is_finished()
            };
            if runnable {
                return Ok(ClaimView { grant: Some(self.grant()), more: vec![] });
            }
            if Instant::now() >= until {
                return Ok(ClaimView { grant: None, more: vec![] });
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    fn renew_lease(&self, body: &RenewLease) -> Result<NoContent, ClientError> {
        self.count_call("renew")?;
        self.lock_state().fence(body.lease)?;
        Ok(NoContent {})
    }

    fn release_lease(&self, body: &ReleaseLease) -> Result<NoContent, ClientError> {
        self.count_call("release")?;
        let mut world = self.lock_state();
        if world.fence(body.lease).is_ok() {
            world.suspend_reason.clone_from(&body.reason);
            world.lease = None;
        }
        Ok(NoContent {})
    }

    fn load_task(&self, body: &LoadTask) -> Result<TaskContextView, ClientError> {
        self.count_call("task")?;
        let world = self.lock_state();
        assert_eq!(body.task_id, world.task.task_id);
        Ok(world.task.clone())
    }

    async fn dispatch_step(&self, body: &DispatchStep) -> Result<DispatchedView, ClientError> {
        self.count_call("dispatch")?;
        let id = {
            let mut world = self.lock_state();
            world.fence(body.lease)?;
            let same = |job: &FakeJob| (job.step, job.attempt) == (body.step_index, body.attempt);
            let known = world.jobs.iter().find(|(_, job)| same(job)).map(|(id, _)| *id);
            known.unwrap_or_else(|| {
                let id = JobId::generate();
                let (step, attempt) = (body.step_index, body.attempt);
                world.jobs.insert(id, FakeJob { step, attempt, made: Instant::now() });
                world.dispatched.push(body.step.action.clone());
                id
            })
        };
        self.crash_if_scripted(CrashPoint::AfterDispatch).await;
        Ok(DispatchedView { job_id: id })
    }

    async fn poll_job(&self, body: &PollJob) -> Result<JobView, ClientError> {
        let PollJob { job_id: id, wait_ms } = *body;
        self.count_call("job")?;
        let (job, takes) = {
            let world = self.lock_state();
            (world.jobs[&id], world.job_takes)
        };
        let left = takes.saturating_sub(job.made.elapsed());
        sleep(left.min(Duration::from_millis(wait_ms.into()))).await;
        let world = self.lock_state();
        Ok(view(&world, id, &job, job.made.elapsed() >= takes))
    }

    async fn verify_step(&self, body: &VerifyStep) -> Result<VerificationView, ClientError> {
        self.count_call("verify")?;
        let (status, left) = {
            let mut world = self.lock_state();
            world.fence(body.lease)?;
            let job = world.jobs[&body.job_id];
            world.judged.push((job.step, body.criteria.clone()));
            (
                world.attempt_for(&job).verdict,
                world.verdict_takes.saturating_sub(job.made.elapsed()),
            )
        };
        let wait = Duration::from_millis(body.wait_ms.into());
        sleep(left.min(wait)).await;
        if left > wait {
            let waiting_for = Some("an analyst".to_owned());
            return Ok(VerificationView { verdict: None, waiting_for });
        }
        self.crash_if_scripted(CrashPoint::AfterVerify).await;
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
        let ended =
            Finding::from_rule("exit_code", met, format!("the command exited with code {code}"));
        let findings = if open.is_empty() { vec![ended] } else { open };
        Ok(Verdict { status, findings, recommended_actions: vec![] }.into())
    }

    fn decide_continuation(&self, body: &ContinueRun) -> Result<ContinuationView, ClientError> {
        self.count_call("continuation")?;
        let mut world = self.lock_state();
        world.fence(body.lease)?;
        world.continued.push(body.continued);
        let nobody = || ContinuationView::NoManager { reason: "nobody is there".to_owned() };
        Ok(world.continuation.clone().unwrap_or_else(nobody))
    }

    fn plan_prompt(&self, body: &PlanRun) -> Result<PlanningView, ClientError> {
        self.count_call("plan")?;
        let world = self.lock_state();
        world.fence(body.lease)?;
        let nobody = || PlanningView::NoPlanner { reason: "Nobody is there".to_owned() };
        Ok(world.plan.clone().unwrap_or_else(nobody))
    }

    fn replan_step(&self, body: &ReplanStep) -> Result<ReplanView, ClientError> {
        self.count_call("replan")?;
        let mut world = self.lock_state();
        world.fence(body.lease)?;
        let nobody = || ReplanView::Kept { reason: "nobody is there".to_owned() };
        Ok(world.replans.pop_front().unwrap_or_else(nobody))
    }

    async fn save_checkpoint(
        &self,
        body: &SaveCheckpoint,
    ) -> Result<CheckpointAckView, ClientError> {
        self.count_call("checkpoint")?;
        self.crash_if_scripted(CrashPoint::BeforeSave).await;
        {
            let mut world = self.lock_state();
            // The last transition gave up the lease, and may still be sent again.
            if world.history.last().is_some_and(|save| is_same(save, body)) {
                return Ok(CheckpointAckView { pause: world.is_paused });
            }
            world.fence(body.lease)?;
            let stored = world.checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.sequence);
            if body.sequence != stored + 1 {
                return Err(refusal(400, &format!("{} after {stored}", body.sequence)));
            }
            let state = world.state_after(body);
            world.checkpoint = Some(CheckpointView {
                task_id: body.lease.task_id,
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
            if world.lost_responses > 0 {
                world.lost_responses -= 1;
                return Err(refusal(503, "connection reset"));
            }
        }
        self.crash_if_scripted(CrashPoint::AfterSave).await;
        Ok(CheckpointAckView { pause: self.lock_state().is_paused })
    }

    fn ask_person(&self, body: &SuspendForQuestion) -> Result<NoContent, ClientError> {
        self.count_call("ask")?;
        let mut world = self.lock_state();
        world.fence(body.lease)?;
        world.question = Some(body.clone());
        world.lease = None;
        Ok(NoContent {})
    }

    async fn record_effect(&self, body: &RecordEffect) -> Result<NoContent, ClientError> {
        self.count_call("effect")?;
        {
            let mut world = self.lock_state();
            world.fence(body.lease)?;
            world.effects.retain(|effect| effect.key != body.effect.key);
            world.effects.push(body.effect.clone());
        }
        self.crash_if_scripted(CrashPoint::AfterRecord).await;
        Ok(NoContent {})
    }
}

/// Whether two transitions are the same one, sent twice.
fn is_same(one: &SaveCheckpoint, other: &SaveCheckpoint) -> bool {
    serde_json::to_value(one).unwrap() == serde_json::to_value(other).unwrap()
}

fn view(world: &FakeRunState, id: JobId, job: &FakeJob, has_ended: bool) -> JobView {
    let goes = world.attempt_for(job);
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
