//! The workflow API, for runners.

use cynode_domain::ids::{HolderId, JobId, TaskId};
use cynode_wire::continuing::{ContinuationView, ContinueRun};
use cynode_wire::jobs::JobView;
use cynode_wire::planning::{PlanRun, PlanningView};
use cynode_wire::replanning::{ReplanStep, ReplanView};
use cynode_wire::steering::{AskPerson, SavedView};
use cynode_wire::workflow::{
    AwaitJob, CheckpointView, ClaimRun, ClaimView, DispatchStep, DispatchedView, GoneView,
    GrantView, HolderGone, RecordEffect, ReleaseLease, RenewLease, ResumeRun, SaveCheckpoint,
    StartRun, TaskContextView, VerificationView, VerifyStep,
};
use reqwest::Method;

use crate::{Client, Error};

impl Client {
    /// `POST /v1/workflow/start`
    pub async fn workflow_start(&self, body: &StartRun) -> Result<GrantView, Error> {
        self.post(&["v1", "workflow", "start"], body).await
    }

    /// `POST /v1/workflow/claim`
    pub async fn workflow_claim(&self, body: &ClaimRun) -> Result<ClaimView, Error> {
        self.post(&["v1", "workflow", "claim"], body).await
    }

    /// `POST /v1/workflow/resume`
    pub async fn workflow_resume(&self, body: &ResumeRun) -> Result<CheckpointView, Error> {
        self.post(&["v1", "workflow", "resume"], body).await
    }

    /// `POST /v1/workflow/checkpoint`
    pub async fn workflow_checkpoint(&self, body: &SaveCheckpoint) -> Result<(), Error> {
        self.post_empty(&["v1", "workflow", "checkpoint"], body).await
    }

    /// As [`Client::workflow_checkpoint`]; says whether the run is to pause. An orchestrator of an
    /// older version says nothing.
    pub async fn workflow_save(&self, body: &SaveCheckpoint) -> Result<SavedView, Error> {
        let request = self.request(Method::POST, &["v1", "workflow", "checkpoint"]).json(body);
        let saved = self.exchange(request).await?;
        match saved.status {
            204 => Ok(SavedView::default()),
            _ => self.parse(&saved),
        }
    }

    /// `POST /v1/workflow/effects`
    pub async fn workflow_effect(&self, body: &RecordEffect) -> Result<(), Error> {
        self.post_empty(&["v1", "workflow", "effects"], body).await
    }

    /// `POST /v1/workflow/continue`
    pub async fn workflow_continue(&self, body: &ContinueRun) -> Result<ContinuationView, Error> {
        self.post(&["v1", "workflow", "continue"], body).await
    }

    /// `POST /v1/workflow/replan`
    pub async fn workflow_replan(&self, body: &ReplanStep) -> Result<ReplanView, Error> {
        self.post(&["v1", "workflow", "replan"], body).await
    }

    /// `POST /v1/workflow/ask`
    pub async fn workflow_ask(&self, body: &AskPerson) -> Result<(), Error> {
        self.post_empty(&["v1", "workflow", "ask"], body).await
    }

    /// `POST /v1/workflow/renew`
    pub async fn workflow_renew(&self, body: &RenewLease) -> Result<(), Error> {
        self.post_empty(&["v1", "workflow", "renew"], body).await
    }

    /// `POST /v1/workflow/release`
    pub async fn workflow_release(&self, body: &ReleaseLease) -> Result<(), Error> {
        self.post_empty(&["v1", "workflow", "release"], body).await
    }

    /// `POST /v1/workflow/gone`
    pub async fn workflow_gone(&self, holder: HolderId) -> Result<GoneView, Error> {
        let body = HolderGone { holder_id: holder };
        self.post(&["v1", "workflow", "gone"], &body).await
    }

    /// `GET /v1/workflow/tasks/{task}`
    pub async fn workflow_task(&self, task: TaskId) -> Result<TaskContextView, Error> {
        self.get(&["v1", "workflow", "tasks", &task.to_string()]).await
    }

    /// `POST /v1/workflow/dispatch`
    pub async fn workflow_dispatch(&self, body: &DispatchStep) -> Result<DispatchedView, Error> {
        self.post(&["v1", "workflow", "dispatch"], body).await
    }

    /// `GET /v1/workflow/jobs/{job}`: answers when the job has ended, or after `wait_ms`.
    pub async fn workflow_job(&self, job: JobId, wait_ms: u32) -> Result<JobView, Error> {
        let request = self
            .request(Method::GET, &["v1", "workflow", "jobs", &job.to_string()])
            .query(&AwaitJob { wait_ms });
        self.fetch(request).await
    }

    /// `POST /v1/workflow/plan`
    pub async fn workflow_plan(&self, body: &PlanRun) -> Result<PlanningView, Error> {
        self.post(&["v1", "workflow", "plan"], body).await
    }

    /// `POST /v1/workflow/verify`
    pub async fn workflow_verify(&self, body: &VerifyStep) -> Result<VerificationView, Error> {
        self.post(&["v1", "workflow", "verify"], body).await
    }
}
