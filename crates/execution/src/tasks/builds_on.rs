//! The changes of other tasks that a new task builds on.

use cynode_domain::git::{ChangeSource, TaskRepository, Transport};
use cynode_domain::ids::{NodeId, ProfileId, ProjectId, TaskId};
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::start::Trigger;
use cynode_domain::text::truncate_chars;
use cynode_resources::{Caller, profiles, projects};
use cynode_store::{NewTask, Task};
use cynode_wire::git::{GitSeverity, TaskDiffView};
use cynode_wire::tasks::{CreateTask, MAX_BUILDS_ON};

use super::push::describe_findings;
use super::{TaskError, TaskService, find};
use crate::artifacts::{ArtifactError, ArtifactService, DiffScope};

/// The resolved sources of a new task.
#[derive(Debug, Default)]
pub(super) struct ResolvedSources {
    pub(super) changes: Vec<ChangeSource>,
    /// The node that has the repository, if it is a path.
    pub(super) node: Option<NodeId>,
}

impl TaskService {
    /// Resolves the tasks that a request builds on to their newest changes. Changes without commits are left out.
    ///
    /// A repeated request gets none: its task exists, whatever happened to the changes.
    pub(super) async fn resolve_sources(
        &self,
        caller: &Caller,
        trigger: Trigger,
        request: &CreateTask,
        repository: Option<&TaskRepository>,
    ) -> Result<ResolvedSources, TaskError> {
        let mut sources = ResolvedSources::default();
        if request.builds_on.is_empty() || self.is_repeated(caller, request).await? {
            return Ok(sources);
        }
        let artifacts =
            ArtifactService::new(self.store.clone(), self.clock.clone(), self.blobs.clone());
        let target = self.find_target_profile(caller, request).await?;
        for name in &request.builds_on {
            let source = self.find_own(caller, &name.into()).await?.spec;
            check_profile(name, &source, target, trigger)?;
            let diff = artifacts.diff(caller, &name.into(), DiffScope::Own, 0).await;
            let diff = diff.map_err(to_task_error)?;
            check_source(name, &diff, repository)?;
            let source = source.id;
            if diff.changes.url.transport() == Transport::Local && sources.node.is_none() {
                sources.node = self.node_of_task(source).await?;
            }
            let is_known = sources.changes.iter().any(|known| known.task == source);
            if !is_known && diff.changes.head != diff.changes.base {
                sources.changes.push(ChangeSource {
                    task: source,
                    job: diff.job_id,
                    base: diff.changes.base,
                    head: diff.changes.head,
                    branch: diff.changes.branch,
                });
            }
        }
        Ok(sources)
    }

    /// Finds a task of the caller. Rejects one that is only shared: its changes are no input for other tasks.
    pub async fn find_own(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
    ) -> Result<Task, TaskError> {
        let (caller, task) = (caller.clone(), task.to_owned());
        let found =
            self.store.read(move |tx| Box::pin(async move { find(tx, &caller, &task).await }));
        found.await
    }

    /// The profile that a new task will have.
    async fn find_target_profile(
        &self,
        caller: &Caller,
        request: &CreateTask,
    ) -> Result<TargetProfile, TaskError> {
        let (caller, named) = (caller.clone(), request.profile.as_ref().map(NameOrId::from));
        let project: Option<NameOrId<ProjectId>> = request.project.as_ref().map(NameOrId::from);
        let found = self.store.read(move |tx| {
            Box::pin(async move {
                let project = match &project {
                    Some(name) => Some(projects::find(tx, &caller, name).await?),
                    None => tx.project_default(caller.user).await?,
                };
                // The default project of the user may not exist yet.
                let Some(project) = project else { return Ok(TargetProfile::Default(None)) };
                let default = TargetProfile::Default(Some(ProfileId::default_of(project.id)));
                let Some(named) = named else { return Ok(default) };
                let profile = profiles::find_in(tx, &project, Some(&named)).await?;
                let is_default = profile.is_default;
                Ok(if is_default { default } else { TargetProfile::Named(profile.id) })
            })
        });
        found.await
    }

    /// The worker node that has the workspace of a task.
    pub(super) async fn node_of_task(&self, task: TaskId) -> Result<Option<NodeId>, TaskError> {
        let node = self
            .store
            .read(move |tx| Box::pin(async move { Ok::<_, TaskError>(tx.task_node(task).await?) }));
        node.await
    }

    pub(super) async fn is_repeated(
        &self,
        caller: &Caller,
        request: &CreateTask,
    ) -> Result<bool, TaskError> {
        let (user, Some(key)) = (caller.user, request.idempotency_key.clone()) else {
            return Ok(false);
        };
        let known = self.store.read(move |tx| {
            Box::pin(async move { Ok::<_, TaskError>(tx.task_by_key(user, &key).await?) })
        });
        Ok(known.await?.is_some())
    }
}

/// The profile of a new task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetProfile {
    /// The default one of its project; `None` if the project is created with the task.
    Default(Option<ProfileId>),
    Named(ProfileId),
}

/// Rejects changes of another profile: they are data of its agents. A person may combine the default profiles of projects.
fn check_profile(
    name: &str,
    source: &NewTask,
    target: TargetProfile,
    trigger: Trigger,
) -> Result<(), TaskError> {
    let (own, is_combined) = match target {
        TargetProfile::Default(own) => {
            (own, trigger == Trigger::Api && source.profile_id.is_none())
        }
        TargetProfile::Named(own) => (Some(own), false),
    };
    if is_combined || own == Some(source.profile()) {
        return Ok(());
    }
    let name = truncate_chars(name, 100);
    if trigger == Trigger::Chat {
        // To an agent, tasks of other profiles do not exist.
        return Err(TaskError::NotFound(name.to_owned()));
    }
    let fault = format!(
        "builds_on: task \"{name}\" belongs to another profile: create this task in the profile of that one, or leave it out"
    );
    Err(TaskError::Invalid(vec![fault]))
}

/// Rejects sources that are too many, or that have no repository to be merged in.
pub(super) fn validate_builds_on(request: &CreateTask) -> Option<String> {
    let count = request.builds_on.len();
    if count > MAX_BUILDS_ON {
        return Some(format!("builds_on has {count} entries; allowed are {MAX_BUILDS_ON}"));
    }
    let has_repository = request.repository.is_some() || request.project_repository.is_some();
    (count > 0 && !has_repository)
        .then(|| "builds_on needs a repository: name the one that its tasks work on".to_owned())
}

fn check_source(
    name: &str,
    diff: &TaskDiffView,
    repository: Option<&TaskRepository>,
) -> Result<(), TaskError> {
    let name = truncate_chars(name, 100);
    let url = &diff.changes.url;
    if repository.is_none_or(|wanted| wanted.url != *url) {
        let fault = format!(
            "builds_on: task \"{name}\" works on another repository, {url}: name this one, or leave the task out"
        );
        return Err(TaskError::Invalid(vec![fault]));
    }
    if let Some(blocking) = describe_findings(diff, GitSeverity::Block) {
        let fault = format!(
            "builds_on: the changes of task \"{name}\" must not be used: {blocking}. Correct them in a new task"
        );
        return Err(TaskError::Invalid(vec![fault]));
    }
    Ok(())
}

fn to_task_error(error: ArtifactError) -> TaskError {
    match error {
        ArtifactError::Task(error) => error,
        ArtifactError::Blob(error) => error.into(),
        ArtifactError::Store(error) => error.into(),
        ArtifactError::StorageLimit(error) => error.into(),
        error @ (ArtifactError::BadPath(_)
        | ArtifactError::JobNotHeld(_)
        | ArtifactError::NotFound(_)
        | ArtifactError::JobWithoutRepository(_)
        | ArtifactError::TaskWithoutRepository(_)
        | ArtifactError::NoChanges(_)
        | ArtifactError::PushBlocked(_)
        | ArtifactError::TaskOpen { .. }
        | ArtifactError::Invalid(_)) => TaskError::Invalid(vec![format!("builds_on: {error}")]),
    }
}
