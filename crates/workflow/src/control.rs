//! What the nodes may ask of the control plane, for the one task they work on.

use async_trait::async_trait;
use cynode_domain::ids::JobId;
use cynode_wire::continuing::{ContinuationView, NO_MANAGER};
use cynode_wire::jobs::JobView;
use cynode_wire::planning::{NO_PLANNER, PlanningView};
use cynode_wire::replanning::ReplanView;
use cynode_wire::workflow::{TaskContextView, VerificationView};

use crate::engine::NodeError;
use crate::nodes::dispatch_step::Dispatch;
use crate::nodes::verify_step_result::Verification;

/// The control plane as seen by one run. Which task and lease is meant is known to the implementor.
#[async_trait]
pub trait ControlPlane: Send + Sync {
    /// Reads the task.
    async fn task_context(&self) -> Result<TaskContextView, NodeError>;

    /// Makes the job for a step and attempt; asked again, it answers with the same job.
    async fn dispatch(&self, dispatch: &Dispatch) -> Result<JobId, NodeError>;

    /// Looks at a job, waiting a while for it to end. It may answer with a job that has not.
    async fn job(&self, job: JobId) -> Result<JobView, NodeError>;

    /// Has a step's result judged, waiting a while for the verdict. It may answer without one.
    async fn verify(&self, verification: &Verification) -> Result<VerificationView, NodeError>;

    /// Asks how the run goes on after the result of this job was not accepted and no attempt is left,
    /// waiting a while for the answer. It may answer without one.
    async fn continuation(
        &self,
        job: JobId,
        continued: u32,
    ) -> Result<ContinuationView, NodeError> {
        let _ = (job, continued);
        Ok(ContinuationView::NoManager { reason: NO_MANAGER.to_owned() })
    }

    /// Has the step of a job planned anew whose result was not accepted, waiting a while for the answer. It
    /// may answer without one.
    async fn replan(&self, job: JobId) -> Result<ReplanView, NodeError> {
        let _ = job;
        Ok(ReplanView::Kept { reason: NO_MANAGER.to_owned() })
    }

    /// Has the task's prompt planned, given what people said about it, waiting a while for the plan. It
    /// may answer without one.
    async fn plan(&self, said: &[String]) -> Result<PlanningView, NodeError> {
        let _ = said;
        Ok(PlanningView::NoPlanner { reason: NO_PLANNER.to_owned() })
    }
}
