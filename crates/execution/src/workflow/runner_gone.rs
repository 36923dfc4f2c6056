//! Releasing the leases of a runner that has ended, without waiting for their expiry.

use cynode_domain::ids::HolderId;
use cynode_wire::workflow::GoneView;

use super::{WorkflowError, WorkflowService};
use cynode_resources::signals::Topic;

impl WorkflowService {
    /// Ends the leases of a runner that has ended, so that other runners claim its tasks at once. The caller vouches
    /// that it has ended; a runner that still runs is fenced, as after any other lost lease.
    pub async fn release_runner_leases(&self, holder: HolderId) -> Result<GoneView, WorkflowError> {
        let tasks = self
            .store
            .write(move |tx| {
                Box::pin(
                    async move { Ok::<_, WorkflowError>(tx.lease_release_holder(holder).await?) },
                )
            })
            .await?;
        tracing::info!(holder.id = %holder, tasks, "runner gone");
        self.signals.send(Topic::Runs);
        Ok(GoneView { tasks })
    }
}
