//! Looking at one job.

use cynode_domain::ids::JobId;
use cynode_store::JobStore;
use cynode_wire::jobs::JobView;

use super::{TaskError, Tasks, find};
use crate::Caller;

impl Tasks {
    /// A job, if the caller may see its task.
    pub async fn job(&self, caller: &Caller, job: JobId) -> Result<JobView, TaskError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let unknown = || TaskError::NotFound(format!("of job {job}"));
                    let found = tx.job_get(job).await?.ok_or_else(unknown)?;
                    find(tx, &caller, &found.asked.task.to_string()).await.map_err(|error| {
                        match error {
                            TaskError::NotFound(_) => unknown(),
                            other => other,
                        }
                    })?;
                    Ok(crate::workflow::job_view(found)?)
                })
            })
            .await
    }
}
