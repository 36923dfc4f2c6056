//! The repository of a job, for the credential that its node leases.

use cynode_domain::git::{RepositoryUrl, TaskRepository};
use cynode_domain::ids::{JobId, TaskId, UserId};
use cynode_resources::NodeCaller;

use super::report::require_held_job;
use super::{NodeError, NodeService};

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
    /// The repository of a job that the calling process holds; rejected for other jobs, for tasks without a repository
    /// and for disabled users.
    pub async fn job_repository(
        &self,
        node: &NodeCaller,
        job: JobId,
    ) -> Result<JobRepository, NodeError> {
        let node = node.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let held = require_held_job(tx.job_get(job).await?, &node, job)?;
                    let task = tx.task_get(held.spec.task).await?;
                    let task = task.ok_or(NodeError::JobNotHeld(job))?;
                    let user = tx.user_get(task.spec.created_by).await?;
                    let user = user.filter(|user| user.is_active);
                    let user = user.ok_or(NodeError::JobNotHeld(job))?.id;
                    let Some(repository) = task.spec.options.repository else {
                        let fault = format!("the task of job {job} has no repository");
                        return Err(NodeError::Invalid(vec![fault]));
                    };
                    let TaskRepository { url, credential, .. } = repository;
                    Ok(JobRepository { task: task.spec.id, user, url, credential })
                })
            })
            .await
    }
}
