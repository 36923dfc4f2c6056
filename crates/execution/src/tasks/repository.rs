//! The repository of a new task: the one that the request names or that of a project, if the rules allow it.

use cynode_domain::git::{TaskRepository, UseProjectRepository};
use cynode_domain::ids::ProjectId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::policy::repository_access::RepositoryAction;
use cynode_resources::projects::{self, ProjectError};
use cynode_resources::{Caller, RepositoryCheck};
use cynode_store::Tx;
use cynode_wire::tasks::CreateTask;

use super::{TaskError, TaskService};

impl TaskService {
    /// The repository of a new task; `None` if it has none, or if a repeated request created it already.
    ///
    /// Fails if the rules do not allow the action, and records that.
    pub(super) async fn resolve_repository(
        &self,
        caller: &Caller,
        request: &CreateTask,
        action: RepositoryAction,
    ) -> Result<Option<TaskRepository>, TaskError> {
        let is_wanted = request.repository.is_some() || request.project_repository.is_some();
        if !is_wanted || self.is_repeated(caller, request).await? {
            return Ok(None);
        }
        let (by, project) = (caller.clone(), request.project.clone());
        let (named, wanted) = (request.repository.clone(), request.project_repository.clone());
        let (repository, denial) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let repository = match (named, wanted) {
                        (Some(named), _) => named,
                        (None, wanted) => {
                            let (project, wanted) =
                                (project.as_deref(), wanted.unwrap_or_default());
                            projects::find_task_repository(tx, &by, project, wanted).await?
                        }
                    };
                    let check = RepositoryCheck {
                        action,
                        url: repository.url.clone(),
                        user: by.user,
                        project: find_project_id(tx, &by, project).await?,
                        task: None,
                    };
                    let denial = check.find_denial(tx).await?;
                    Ok::<_, TaskError>((repository, denial))
                })
            })
            .await?;
        match denial {
            None => Ok(Some(repository)),
            Some(denial) => {
                denial.record(&self.store, self.clock.now()).await?;
                Err(denial.into())
            }
        }
    }

    /// The repository of a project, for a request that selects it.
    pub async fn find_project_repository(
        &self,
        caller: &Caller,
        project: Option<&str>,
        wanted: UseProjectRepository,
    ) -> Result<TaskRepository, TaskError> {
        let (caller, project) = (caller.clone(), project.map(str::to_owned));
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let project = project.as_deref();
                    Ok(projects::find_task_repository(tx, &caller, project, wanted).await?)
                })
            })
            .await
    }
}

/// The project of a new task; `None` if it is the default one, which is created on first use.
async fn find_project_id(
    tx: &mut Tx,
    caller: &Caller,
    project: Option<String>,
) -> Result<Option<ProjectId>, ProjectError> {
    let Some(name) = project else {
        return Ok(tx.project_default(caller.user).await?.map(|project| project.id));
    };
    let name: NameOrId<ProjectId> = name.into();
    Ok(Some(projects::find(tx, caller, &name).await?.id))
}

/// Rejects a request that names a repository in two ways.
pub(super) fn validate_repository(request: &CreateTask) -> Option<String> {
    let is_ambiguous = request.repository.is_some() && request.project_repository.is_some();
    is_ambiguous.then(|| {
        "repository and project_repository exclude each other: name a repository, or use that of a project".to_owned()
    })
}
