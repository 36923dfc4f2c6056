//! Binds the stored state of a run to the engine.

use cynode_domain::ids::{JobId, TaskId};
use cynode_workflow_state::changes::Changes;
use cynode_workflow_state::{Finish, GRAPH_VERSION, WorkflowState, WorkflowStateSnapshot};
use serde_json::Error;

use crate::engine::{FAILED, WorkflowNode};
use crate::nodes::collect_result::CollectResultNode;
use crate::nodes::dispatch_step::DispatchStepNode;
use crate::nodes::mark_failed::MarkFailedNode;
use crate::nodes::verify_step_result::VerifyStepResultNode;
use crate::workflow::{TaskState, TransitionPosition};

impl TaskState for WorkflowState {
    const VERSION: u32 = GRAPH_VERSION;
    // A run of version 1 never stalled, so it can be resumed.
    const OLDEST: u32 = 1;
    type Snapshot = WorkflowStateSnapshot;

    fn new(task: TaskId) -> Self {
        Self::new(task)
    }

    fn version(&self) -> u32 {
        self.graph_version
    }

    fn snapshot(&self) -> WorkflowStateSnapshot {
        self.snapshot()
    }

    fn changes_since(&self, before: &WorkflowStateSnapshot) -> Result<Changes, Error> {
        self.changes_since(before)
    }

    fn finish(&self) -> Option<&Finish> {
        self.finish.as_ref()
    }

    /// The edge may have advanced the state already.
    fn transition_subject(&self, position: TransitionPosition<'_>) -> (Option<u32>, Option<JobId>) {
        match position.node {
            DispatchStepNode::NAME if position.edge == FAILED => {
                (Some(self.current_step_index), None)
            }
            DispatchStepNode::NAME | CollectResultNode::NAME | VerifyStepResultNode::NAME => {
                (self.job.map(|job| job.step_index), self.job.map(|job| job.job_id))
            }
            MarkFailedNode::NAME => {
                let job = self.job.filter(|job| job.step_index == self.current_step_index);
                let step = self.current_step().map(|_| self.current_step_index);
                (step, job.map(|job| job.job_id))
            }
            _ => (None, None),
        }
    }
}
