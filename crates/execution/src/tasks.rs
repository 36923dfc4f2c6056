//! Tasks: create, read, order by dependencies, update and cancel.

mod agent;
mod attachments;
mod awaited_node;
mod builds_on;
mod cancel;
mod copy;
mod create;
mod creation;
mod dependencies;
mod hook;
mod job;
mod push;
mod queries;
mod repository;
mod scope;
mod set_status;
pub mod start;
mod step_checks;
mod update;
mod validation;
mod view;

use cynode_domain::criteria::CriteriaWeakening;
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{ProjectId, TaskId, UserId};
use cynode_domain::job::Limits;
use cynode_domain::name::lookup_name;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::status::ShownTaskStatus;
use cynode_runtime::clock::SharedClock;
use cynode_store::{NewEvent, NewTask, Store, Task, Tx};
use cynode_wire::jobs::JobView;
use serde_json::Value;

pub use self::cancel::close_with_children;
pub use self::copy::{TaskCopyRequest, copy_task};
pub use self::creation::find_required_node;
pub use self::hook::CreationHook;
pub use self::scope::IdInTask;
pub use self::validation::validate_task_request;
pub use self::view::{view, views};
use crate::artifacts::{StorageLimitExceeded, StorageLimits};
use cynode_blobs::{BlobError, BlobStore};
use cynode_resources::profiles::ProfileError;
use cynode_resources::projects::{ProjectError, is_shared_with};
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::{Caller, PageError, RepositoryDenied, Signals};
pub use cynode_store::{ListedProfiles, TaskScope};

/// Why a task operation was rejected.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// The task does not exist, or the caller may not see it.
    #[error("there is no task \"{0}\"")]
    NotFound(String),
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    /// An earlier request with the same idempotency key had other content.
    #[error(
        "idempotency key \"{key}\" was used for another request, which created task \"{name}\": use a \
         new key, or repeat the first request unchanged"
    )]
    KeyReused {
        key: String,
        /// The task that the earlier request created.
        name: String,
    },
    /// The task is closed and cannot change.
    #[error("the task is {status} already")]
    Closed { status: ShownTaskStatus },
    /// The dependency is closed and can never complete.
    #[error("task \"{name}\" is {status}: a task that depends on it would never start")]
    ClosedDependency { name: String, status: ShownTaskStatus },
    /// The dependency would create a cycle.
    #[error(
        "this dependency would create a cycle: \"{task}\" and \"{on}\" would wait for each other"
    )]
    DependencyCycle {
        task: String,
        /// The dependency.
        on: String,
    },
    /// The workflow has started; its dependencies can no longer change.
    #[error("the task has started: dependencies can be added to queued tasks only")]
    AlreadyStarted,
    /// The criteria can no longer change.
    #[error(
        "the last step is already being verified against the current criteria: fork the run, or create \
         a new task, to use other criteria"
    )]
    CriteriaFrozen,
    /// The task has changed since `expected_updated_at`.
    #[error("the task has changed since you read it: read it again and retry")]
    Conflict,
    /// Another task of the same user has this name.
    #[error("you already have a task named \"{0}\": choose another name")]
    NameTaken(String),
    /// An agent may not weaken the criteria of a task.
    #[error(transparent)]
    Weakening(#[from] CriteriaWeakening),
    /// The project was not found, or is inactive.
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The rules do not allow to clone the repository, or to push to it.
    #[error(transparent)]
    RepositoryDenied(#[from] RepositoryDenied),
    /// An attachment could not be stored.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The attachments exceed a limit.
    #[error(transparent)]
    StorageLimit(#[from] StorageLimitExceeded),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for TaskError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound(_) => Classification::new(ErrorClass::NotFound, self),
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::KeyReused { .. }
            | Self::Closed { .. }
            | Self::ClosedDependency { .. }
            | Self::DependencyCycle { .. }
            | Self::AlreadyStarted
            | Self::CriteriaFrozen
            | Self::Conflict
            | Self::NameTaken(_) => Classification::new(ErrorClass::Conflict, self),
            Self::Weakening(_) | Self::RepositoryDenied(_) => {
                Classification::new(ErrorClass::Forbidden, self)
            }
            Self::Project(error) => error.classify(),
            Self::Profile(error) => error.classify(),
            Self::Blob(error) => error.classify(),
            Self::StorageLimit(error) => error.classify(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Creates, reads and changes tasks. Cheap to clone.
#[derive(Clone)]
pub struct TaskService {
    store: Store,
    clock: SharedClock,
    signals: Signals,
    blobs: BlobStore,
    /// The most that the jobs of a task may ask for.
    job_ceiling: Limits,
    storage_limits: StorageLimits,
}

impl TaskService {
    /// Creates the service; attachments are stored in `blobs`.
    pub fn new(store: Store, clock: SharedClock, signals: Signals, blobs: BlobStore) -> Self {
        let (job_ceiling, storage_limits) = (Limits::MAX, StorageLimits::default());
        Self { store, clock, signals, blobs, job_ceiling, storage_limits }
    }

    /// Sets the most that the jobs of a task may ask for.
    #[must_use]
    pub fn with_job_ceiling(self, job_ceiling: Limits) -> Self {
        Self { job_ceiling, ..self }
    }

    /// Sets the most bytes that files may take.
    #[must_use]
    pub fn with_storage_limits(self, storage_limits: StorageLimits) -> Self {
        Self { storage_limits, ..self }
    }
}

/// Finds a task by id, or by name among the caller's own tasks, if the caller may see it.
pub async fn find(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &NameOrId<TaskId>,
) -> Result<Task, TaskError> {
    let found = match name_or_id {
        NameOrId::Id(id) => tx.task_get(*id).await?,
        NameOrId::Name(name) => tx.task_by_name(caller.user, &lookup_name(name)).await?,
    };
    found
        .filter(|task| caller.may_see(task.spec.created_by))
        .ok_or_else(|| TaskError::NotFound(name_or_id.excerpt()))
}

/// Same as [`find`], also if the project of the task is shared with the caller: for reading only.
pub async fn find_shared(
    tx: &mut Tx,
    caller: &Caller,
    name_or_id: &NameOrId<TaskId>,
) -> Result<Task, TaskError> {
    let unknown = || TaskError::NotFound(name_or_id.excerpt());
    let found = match name_or_id {
        NameOrId::Id(id) => tx.task_get(*id).await?,
        NameOrId::Name(name) => {
            let name = lookup_name(name);
            match tx.task_by_name(caller.user, &name).await? {
                None => tx.task_by_shared_name(caller.user, &name).await?,
                own => own,
            }
        }
    };
    let task = found.ok_or_else(unknown)?;
    let may_read = caller.may_see(task.spec.created_by)
        || is_shared_with(tx, caller, task.spec.project).await?;
    if may_read { Ok(task) } else { Err(unknown()) }
}

/// The creator, the project and the profile of a task.
pub fn scope_of(task: &Task) -> TaskScope {
    let NewTask { id, created_by, project, .. } = task.spec;
    TaskScope { task: id, created_by, project, profile: task.spec.profile() }
}

/// Locks a task until the transaction ends; fails if it does not exist.
pub(crate) async fn lock_task(tx: &mut Tx, id: TaskId) -> Result<Task, TaskError> {
    tx.task_lock(id).await?.ok_or_else(|| TaskError::NotFound(id.to_string()))
}

/// Creates an event about a task, visible to every user who may see the task. Commands and their output may
/// contain secrets; events are stored and streamed with secrets redacted.
pub fn task_event(task: &Task, kind: &'static str, data: Value) -> NewEvent {
    let NewTask { id, created_by, project, .. } = task.spec;
    task_event_for(id, created_by, project, kind, data)
}

/// Same as [`task_event`], where only the creator and the project of the task are loaded.
pub(crate) fn task_event_for(
    task: TaskId,
    owner: UserId,
    project: ProjectId,
    kind: &'static str,
    data: Value,
) -> NewEvent {
    NewEvent {
        kind,
        owner: Some(owner),
        project: Some(project),
        task: Some(task),
        run: None,
        job: None,
        data: data.redact_secrets(),
    }
}

async fn load_job_views(tx: &mut Tx, task: TaskId) -> Result<Vec<JobView>, TaskError> {
    let jobs = tx.job_list(task).await?;
    Ok(jobs.into_iter().map(crate::workflow::job_view).collect::<Result<_, _>>()?)
}
