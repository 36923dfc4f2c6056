//! Preferences: access rules, storage and resolution for a task.
//!
//! System preferences are readable by every user and writable by administrators. User preferences belong to the user;
//! those of a project or task to every user who may see it. Group preferences are readable by members and writable by
//! administrators.

mod history;
mod resolve;
mod write;

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{TaskId, UserId};
use cynode_domain::preference::{InvalidScope, Scope, ScopeKind};
use cynode_runtime::clock::SharedClock;
use cynode_store::{Preference, Store, Task, Tx};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::preferences::{PreferenceKey, PreferenceView};
use uuid::Uuid;

pub use resolve::PreferenceSubject;
pub use resolve::{effective_for_project, effective_for_task, effective_with_sources};

use crate::paging::PageRequest;
use crate::{Caller, PageError, groups};
use crate::{projects, projects::ProjectError};

/// Why an operation on preferences was rejected.
#[derive(Debug, thiserror::Error)]
pub enum PreferenceError {
    #[error("there is no {scope} preference \"{key}\"")]
    NotFound { scope: ScopeKind, key: String },
    /// The scope already has a preference for the key.
    #[error("{scope} preference \"{key}\" already exists (version {found}): update it")]
    Exists { scope: ScopeKind, key: String, found: i64 },
    /// The version differs from `expected_version`.
    #[error("the preference has version {found}: read it again")]
    Conflict { found: i64 },
    /// The caller may not access the scope.
    #[error("{0}")]
    Forbidden(&'static str),
    #[error(transparent)]
    Scope(#[from] InvalidScope),
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Page(#[from] PageError),
    /// The task does not exist, or the caller may not see it.
    #[error("there is no task \"{0}\"")]
    TaskNotFound(TaskId),
    #[error(transparent)]
    Project(#[from] ProjectError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for PreferenceError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound { .. } | Self::TaskNotFound(_) => {
                Classification::new(ErrorClass::NotFound, self)
            }
            Self::Exists { .. } | Self::Conflict { .. } => {
                Classification::new(ErrorClass::Conflict, self)
            }
            Self::Forbidden(_) => Classification::new(ErrorClass::Forbidden, self),
            Self::Scope(_) | Self::Invalid(_) => Classification::new(ErrorClass::Invalid, self),
            Self::Page(error) => error.classify(),
            Self::Project(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Preferences. Cheap to clone.
#[derive(Clone)]
pub struct PreferenceService {
    store: Store,
    clock: SharedClock,
}

impl PreferenceService {
    /// Creates the service.
    pub fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Returns one preference.
    pub async fn get(
        &self,
        caller: &Caller,
        preference: PreferenceKey,
    ) -> Result<PreferenceView, PreferenceError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let scope = resolve_scope(&caller, preference.scope_type, preference.scope_id)?;
                    require_readable(tx, &caller, scope).await?;
                    let found = tx.preference_get(scope, &preference.key).await?;
                    found
                        .map(preference_view)
                        .ok_or_else(|| preference_not_found(scope, &preference.key))
                })
            })
            .await
    }

    /// Returns a page of the preferences of a scope whose key begins with `prefix`, by key.
    pub async fn list(
        &self,
        caller: &Caller,
        kind: ScopeKind,
        id: Option<Uuid>,
        prefix: &str,
        query: &PageQuery,
    ) -> Result<Page<PreferenceView>, PreferenceError> {
        let request = PageRequest::<String>::parse(query)?;
        let (after, fetch) = (request.before.clone(), request.fetch);
        let (caller, prefix) = (caller.clone(), prefix.to_owned());
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let scope = resolve_scope(&caller, kind, id)?;
                    require_readable(tx, &caller, scope).await?;
                    let after = after.as_deref();
                    Ok::<_, PreferenceError>(
                        tx.preference_list(scope, &prefix, after, fetch).await?,
                    )
                })
            })
            .await?;
        Ok(request.page(found, |entry| entry.key.clone(), preference_view))
    }
}

/// The requested scope; user scope without an id means the caller.
fn resolve_scope(
    caller: &Caller,
    kind: ScopeKind,
    id: Option<Uuid>,
) -> Result<Scope, PreferenceError> {
    let own = (kind == ScopeKind::User).then_some(caller.user.as_uuid());
    Ok(Scope::new(kind, id.or(own))?)
}

/// Rejects a scope that the caller may not read.
async fn require_readable(
    tx: &mut Tx,
    caller: &Caller,
    scope: Scope,
) -> Result<(), PreferenceError> {
    match scope {
        Scope::System => Ok(()),
        Scope::Group(group) if groups::may_read(tx, caller, group).await? => Ok(()),
        Scope::Group(_) => Err(PreferenceError::Forbidden(
            "there is no such group, or you may not read its preferences",
        )),
        Scope::User(user) => require_own(caller, user),
        Scope::Project(project) => {
            Ok(projects::find(tx, caller, &project.into()).await.map(drop)?)
        }
        Scope::Task(task) => find_task(tx, caller, task).await.map(drop),
    }
}

/// Finds a task that the caller may see.
async fn find_task(tx: &mut Tx, caller: &Caller, id: TaskId) -> Result<Task, PreferenceError> {
    let found = tx.task_get(id).await?;
    found
        .filter(|task| caller.may_see(task.spec.created_by))
        .ok_or(PreferenceError::TaskNotFound(id))
}

fn require_own(caller: &Caller, user: UserId) -> Result<(), PreferenceError> {
    if caller.may_see(user) {
        return Ok(());
    }
    Err(PreferenceError::Forbidden("you may not read the preferences of another user"))
}

fn preference_not_found(scope: Scope, key: &str) -> PreferenceError {
    PreferenceError::NotFound { scope: scope.kind(), key: key.chars().take(100).collect() }
}

fn preference_view(entry: Preference) -> PreferenceView {
    PreferenceView {
        scope_type: entry.scope.kind(),
        scope_id: entry.scope.id(),
        key: entry.key,
        value: entry.value,
        value_type: entry.value_type,
        version: entry.version,
        updated_by: entry.updated_by,
        updated_at: entry.updated_at,
    }
}
