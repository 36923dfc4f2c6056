//! The repository of a job, for the credential that its node leases.

use cynode_domain::git::{RepositoryUrl, TaskRepository};
use cynode_domain::ids::{JobId, TaskId, UserId};
use cynode_resources::NodeCaller;
use cynode_store::Tx;

use super::report::require_held_job;
use super::{NodeError, NodeService};
use crate::workflow::job_creation::find_repository_denial;

/// The repository that a job works on, and the user whose credentials it may use.
#[derive(Debug, Clone)]
pub struct JobRepository {
    pub task: TaskId,
    pub user: UserId,
    pub url: RepositoryUrl,
    /// The name of the credential, if the task names one.
    pub credential: Option<String>,
}

impl NodeService {
    /// The repository of a job that the calling process holds; rejected for other jobs, for tasks without a repository,
    /// for disabled users, and if the rules do not allow the access now, which is recorded.
    pub async fn job_repository(
        &self,
        node: &NodeCaller,
        job: JobId,
    ) -> Result<JobRepository, NodeError> {
        let node = node.clone();
        let found = self.store.read(move |tx| Box::pin(find_job_repository(tx, node, job))).await;
        if let Err(NodeError::RepositoryDenied(denial)) = &found {
            denial.record(&self.store, self.clock.now()).await?;
        }
        found
    }
}

async fn find_job_repository(
    tx: &mut Tx,
    node: NodeCaller,
    job: JobId,
) -> Result<JobRepository, NodeError> {
    let held = require_held_job(tx.job_get(job).await?, &node, job)?;
    let task = tx.task_get(held.spec.task).await?;
    let task = task.ok_or(NodeError::JobNotHeld(job))?;
    let user = tx.user_get(task.spec.created_by).await?;
    let user = user.filter(|user| user.is_active);
    let user = user.ok_or(NodeError::JobNotHeld(job))?.id;
    let number = (held.spec.step_index, held.spec.attempt);
    if let Some(denial) = find_repository_denial(tx, &task, number).await? {
        return Err(denial.into());
    }
    let Some(repository) = task.spec.options.repository else {
        let fault = format!("the task of job {job} has no repository");
        return Err(NodeError::Invalid(vec![fault]));
    };
    let TaskRepository { url, credential, .. } = repository;
    Ok(JobRepository { task: task.spec.id, user, url, credential })
}
