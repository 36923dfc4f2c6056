//! The calls of the orchestrator that a runner makes, as a seam: one method per endpoint.
//!
//! [`cynode_client::Client`] is the real one. No method repeats a call: [`CallError`] says
//! whether that could help, and [`crate::held`] decides how long to try.

use async_trait::async_trait;
use cynode_client::{Client, Error};
use cynode_domain::ids::{JobId, TaskId};
use cynode_wire::continuing::{ContinuationView, ContinueRun, NO_MANAGER};
use cynode_wire::jobs::JobView;
use cynode_wire::planning::{NO_PLANNER, PlanRun, PlanningView};
use cynode_wire::replanning::{ReplanStep, ReplanView};
use cynode_wire::steering::{AskPerson, SavedView};
use cynode_wire::workflow::{
    ClaimRun, ClaimView, DispatchStep, GrantView, RecordEffect, ReleaseLease, RenewLease,
    SaveCheckpoint, TaskContextView, VerificationView, VerifyStep,
};

use crate::engine::{JournalError, NodeError};

/// Why a call did not succeed, by what the runner has to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// The hold is no longer the newest: stop at once.
    #[error("{0}")]
    Fenced(String),
    /// The orchestrator is away or overloaded: the same call may succeed later.
    #[error("{0}")]
    Unavailable(String),
    /// The answer is not what this version understands.
    #[error("{0}")]
    Unreadable(String),
    /// The orchestrator said no, and will say it again.
    #[error("{0}")]
    Refused(String),
}

/// Taking, keeping and giving up the right to drive a task.
#[async_trait]
pub trait Leases: Send + Sync {
    /// Waits a while for tasks to drive.
    async fn claim(&self, body: &ClaimRun) -> Result<Vec<GrantView>, CallError>;

    /// Extends a lease.
    async fn renew(&self, body: &RenewLease) -> Result<(), CallError>;

    /// Gives a lease up.
    async fn release(&self, body: &ReleaseLease) -> Result<(), CallError>;
}

/// What a run asks for while it holds its task.
#[async_trait]
pub trait RunCalls: Send + Sync {
    /// Reads the task.
    async fn task(&self, task: TaskId) -> Result<TaskContextView, CallError>;

    /// Makes the job for (run, step, attempt), once.
    async fn dispatch(&self, body: &DispatchStep) -> Result<JobId, CallError>;

    /// Looks at a job, waiting up to `wait_ms` for it to end.
    async fn job(&self, job: JobId, wait_ms: u32) -> Result<JobView, CallError>;

    /// Has a step's result judged; answers without a verdict while there is none.
    async fn verify(&self, body: &VerifyStep) -> Result<VerificationView, CallError>;

    /// Has the task's prompt planned; answers without a plan while there is none. Where nobody plans, it
    /// says so.
    async fn plan(&self, _: &PlanRun) -> Result<PlanningView, CallError> {
        Ok(PlanningView::NoPlanner { reason: NO_PLANNER.to_owned() })
    }

    /// Asks how a run goes on that stands still; answers without a decision while there is none. Where
    /// nobody decides, it says so.
    async fn continuation(&self, _: &ContinueRun) -> Result<ContinuationView, CallError> {
        Ok(ContinuationView::NoManager { reason: NO_MANAGER.to_owned() })
    }

    /// Has a step planned anew whose result was not accepted; answers without a plan while there is none.
    /// Where nobody plans, it says so.
    async fn replan(&self, _: &ReplanStep) -> Result<ReplanView, CallError> {
        Ok(ReplanView::Kept { reason: NO_MANAGER.to_owned() })
    }

    /// Saves a transition; the same one again changes nothing.
    async fn checkpoint(&self, body: &SaveCheckpoint) -> Result<(), CallError>;

    /// Saves a transition as [`RunCalls::checkpoint`] does, and hears whether the run is to pause. Where
    /// nobody can ask for that, nobody does.
    async fn save(&self, body: &SaveCheckpoint) -> Result<SavedView, CallError> {
        self.checkpoint(body).await.map(|()| SavedView::default())
    }

    /// Puts the run down until somebody has answered its question. Where nobody can, that is refused.
    async fn ask(&self, body: &AskPerson) -> Result<(), CallError> {
        Err(CallError::Refused(format!("nobody answers: {}", body.question.text)))
    }

    /// Remembers the answer of an effect.
    async fn effect(&self, body: &RecordEffect) -> Result<(), CallError>;
}

/// An orchestrator, seen by a runner.
pub trait Orchestrator: Leases + RunCalls + 'static {}

impl<T: Leases + RunCalls + 'static> Orchestrator for T {}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match &error {
            Error::Refused(problem) if problem.status == 409 => Self::Fenced(text),
            error if error.is_transient() => Self::Unavailable(text),
            // The orchestrator is away, and something else answers at its address meanwhile.
            Error::NotOurs { .. } => Self::Unavailable(text),
            Error::Unreadable { .. } => Self::Unreadable(text),
            Error::Refused(_) | Error::Unreachable { .. } | Error::BadAddress { .. } => {
                Self::Refused(text)
            }
        }
    }
}

impl From<CallError> for NodeError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Fenced(_) => Self::LeaseLost,
            CallError::Unavailable(reason) => Self::Transient(reason),
            CallError::Unreadable(reason) => Self::BadOutput(reason),
            CallError::Refused(reason) => Self::Denied(reason),
        }
    }
}

impl From<CallError> for JournalError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Fenced(_) => Self::LeaseLost,
            CallError::Unavailable(reason)
            | CallError::Unreadable(reason)
            | CallError::Refused(reason) => Self::Rejected(reason),
        }
    }
}

#[async_trait]
impl Leases for Client {
    async fn claim(&self, body: &ClaimRun) -> Result<Vec<GrantView>, CallError> {
        let ClaimView { grant, more } = self.workflow_claim(body).await?;
        Ok(grant.into_iter().chain(more).collect())
    }

    async fn renew(&self, body: &RenewLease) -> Result<(), CallError> {
        Ok(self.workflow_renew(body).await?)
    }

    async fn release(&self, body: &ReleaseLease) -> Result<(), CallError> {
        Ok(self.workflow_release(body).await?)
    }
}

#[async_trait]
impl RunCalls for Client {
    async fn task(&self, task: TaskId) -> Result<TaskContextView, CallError> {
        Ok(self.workflow_task(task).await?)
    }

    async fn dispatch(&self, body: &DispatchStep) -> Result<JobId, CallError> {
        Ok(self.workflow_dispatch(body).await?.job_id)
    }

    async fn job(&self, job: JobId, wait_ms: u32) -> Result<JobView, CallError> {
        Ok(self.workflow_job(job, wait_ms).await?)
    }

    async fn verify(&self, body: &VerifyStep) -> Result<VerificationView, CallError> {
        Ok(self.workflow_verify(body).await?)
    }

    async fn plan(&self, body: &PlanRun) -> Result<PlanningView, CallError> {
        Ok(self.workflow_plan(body).await?)
    }

    async fn continuation(&self, body: &ContinueRun) -> Result<ContinuationView, CallError> {
        match self.workflow_continue(body).await {
            // An orchestrator of before decides nothing.
            Err(Error::Refused(problem)) if problem.status == 404 => {
                Ok(ContinuationView::NoManager { reason: NO_MANAGER.to_owned() })
            }
            answer => Ok(answer?),
        }
    }

    async fn replan(&self, body: &ReplanStep) -> Result<ReplanView, CallError> {
        match self.workflow_replan(body).await {
            // An orchestrator of before plans nothing anew.
            Err(Error::Refused(problem)) if problem.status == 404 => {
                Ok(ReplanView::Kept { reason: NO_MANAGER.to_owned() })
            }
            answer => Ok(answer?),
        }
    }

    async fn checkpoint(&self, body: &SaveCheckpoint) -> Result<(), CallError> {
        Ok(self.workflow_checkpoint(body).await?)
    }

    async fn save(&self, body: &SaveCheckpoint) -> Result<SavedView, CallError> {
        Ok(self.workflow_save(body).await?)
    }

    async fn ask(&self, body: &AskPerson) -> Result<(), CallError> {
        Ok(self.workflow_ask(body).await?)
    }

    async fn effect(&self, body: &RecordEffect) -> Result<(), CallError> {
        Ok(self.workflow_effect(body).await?)
    }
}

#[cfg(test)]
mod tests {
    use cynode_wire::problem::Problem;

    use super::*;

    fn refusal(status: u16) -> CallError {
        CallError::from(Error::Refused(Box::new(Problem {
            kind: String::new(),
            title: String::new(),
            status,
            detail: "because".to_owned(),
            instance: None,
            errors: vec![],
        })))
    }

    #[test]
    fn a_conflict_is_a_lost_lease_and_an_overload_is_waited_for() {
        assert_eq!(NodeError::from(refusal(409)), NodeError::LeaseLost);
        assert_eq!(NodeError::from(refusal(503)), NodeError::Transient("because".to_owned()));
        assert_eq!(NodeError::from(refusal(429)), NodeError::Transient("because".to_owned()));
    }

    #[test]
    fn any_other_refusal_is_final() {
        assert_eq!(NodeError::from(refusal(404)), NodeError::Denied("because".to_owned()));
        assert_eq!(JournalError::from(refusal(413)), JournalError::Rejected("because".to_owned()));
    }
}
