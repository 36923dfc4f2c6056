//! Reading one job.

use cynode_domain::ids::JobId;
use cynode_wire::jobs::JobView;

use super::{TaskError, TaskService};
use cynode_resources::Caller;

impl TaskService {
    /// Returns a job, if the caller may see its task.
    pub async fn job(&self, caller: &Caller, job: JobId) -> Result<JobView, TaskError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let unknown = || TaskError::NotFound(format!("of job {job}"));
                    let found = tx.job_get(job).await?.ok_or_else(unknown)?;
                    let task = tx.task_get(found.spec.task).await?;
                    let may_see = task.is_some_and(|task| caller.may_see(task.spec.created_by));
                    if !may_see {
                        return Err(unknown());
                    }
                    Ok(crate::workflow::job_view(found)?)
                })
            })
            .await
    }
}
