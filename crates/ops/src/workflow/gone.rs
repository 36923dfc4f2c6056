//! A runner has ended, and somebody saw it: nobody has to wait for its leases.

use cynode_domain::ids::HolderId;
use cynode_store::HolderStore;
use cynode_wire::workflow::GoneView;

use super::{Workflow, WorkflowError};
use crate::signals::Topic;

impl Workflow {
    /// Ends the leases of a runner that has ended, so that others take its tasks at once. The caller
    /// vouches for its end; a runner that is still at work is refused from then on, as after any
    /// other loss of a lease.
    pub async fn gone(&self, holder: HolderId) -> Result<GoneView, WorkflowError> {
        let tasks = self
            .store
            .write(move |tx| {
                Box::pin(async move { Ok::<_, WorkflowError>(tx.holder_gone(holder).await?) })
            })
            .await?;
        tracing::info!(holder.id = %holder, tasks, "runner {holder} has ended and left {tasks} tasks");
        self.signals.send(Topic::Runs);
        Ok(GoneView { tasks })
    }
}
