//! Workspace garbage collection: a node may remove workspaces of closed tasks, never by age alone.

use cynode_wire::nodes::{AskWorkspaces, WorkspacesView};

use super::{NodeError, NodeService};

const MAX_TASKS: usize = 1000;

impl NodeService {
    /// Returns the requested tasks that have been closed for `closed_for_s`. A task that is open or unknown keeps its
    /// workspace.
    pub async fn removable_workspaces(
        &self,
        request: AskWorkspaces,
    ) -> Result<WorkspacesView, NodeError> {
        if request.tasks.len() > MAX_TASKS {
            let fault = format!("tasks has more than {MAX_TASKS} entries");
            return Err(NodeError::Invalid(vec![fault]));
        }
        let removable = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let closed = tx.tasks_closed_for(&request.tasks, request.closed_for_s).await?;
                    Ok::<_, NodeError>(closed)
                })
            })
            .await?;
        Ok(WorkspacesView { removable })
    }
}
