//! Who may see a task, by the id of the task, one of its jobs or one of its runs.

use cynode_domain::ids::{JobId, RunId, TaskId};
use cynode_resources::Caller;
use cynode_store::TaskScope;

use super::{TaskError, TaskService};

/// An id that belongs to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdInTask {
    Task(TaskId),
    Job(JobId),
    Run(RunId),
}

impl TaskService {
    /// Returns the task that an id belongs to, in one statement; `None` if it does not exist or the caller may
    /// not see it.
    pub async fn scope(
        &self,
        caller: &Caller,
        id: IdInTask,
    ) -> Result<Option<TaskScope>, TaskError> {
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    Ok::<_, TaskError>(match id {
                        IdInTask::Task(task) => tx.task_scope(task).await?,
                        IdInTask::Job(job) => tx.task_scope_of_job(job).await?,
                        IdInTask::Run(run) => tx.task_scope_of_run(run).await?,
                    })
                })
            })
            .await?;
        Ok(found.filter(|scope| caller.may_see(scope.created_by)))
    }
}
