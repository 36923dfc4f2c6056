//! Preferences: who may write which, and what holds for a task.
//!
//! Everybody reads the system's; administrators write them. A user's are the user's own, those of a
//! project or task belong to whoever sees it. Those of a group are read by its members and written by
//! administrators.

mod history;
mod resolve;
mod write;

use cynode_domain::ids::UserId;
use cynode_domain::preference::{BadScope, Scope, ScopeKind};
use cynode_runtime::clock::SharedClock;
use cynode_store::{Preference, PreferenceStore, Store, Tx};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::preferences::{PreferenceKey, PreferenceView};
use uuid::Uuid;

pub use resolve::Subject;
pub(crate) use resolve::{for_project, for_task, with_sources};

use crate::paging::PageRequest;
use crate::projects::{self, ProjectError};
use crate::tasks::{self, TaskError};
use crate::{BadCursor, Caller, groups};

/// Why an operation on preferences was refused.
#[derive(Debug, thiserror::Error)]
pub enum PreferenceError {
    /// There is no such preference.
    #[error("there is no {scope} preference \"{key}\"")]
    NotFound {
        /// Of which kind of scope.
        scope: ScopeKind,
        /// For which key.
        key: String,
    },
    /// There is one for that key.
    #[error("there is a {scope} preference \"{key}\" already, version {found}: update it")]
    Exists {
        /// Of which kind of scope.
        scope: ScopeKind,
        /// For which key.
        key: String,
        /// The version it has.
        found: i64,
    },
    /// The preference has another version than expected.
    #[error("the preference has version {found}: read it again")]
    Conflict {
        /// The version it has.
        found: i64,
    },
    /// The preference is somebody else's.
    #[error("{0}")]
    Forbidden(&'static str),
    /// The scope cannot be.
    #[error(transparent)]
    Scope(#[from] BadScope),
    /// The request breaks rules.
    #[error("{0}")]
    Invalid(String),
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The task was not found.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The project was not found.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// Preferences. Cheap to clone.
#[derive(Clone)]
pub struct Preferences {
    store: Store,
    clock: SharedClock,
}

impl Preferences {
    /// Preferences kept in `store`.
    pub fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// One preference.
    pub async fn get(
        &self,
        caller: &Caller,
        wanted: PreferenceKey,
    ) -> Result<PreferenceView, PreferenceError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let scope = scope_of(&caller, wanted.scope_type, wanted.scope_id)?;
                    may_read(tx, &caller, scope).await?;
                    let found = tx.preference_get(scope, &wanted.key).await?;
                    found.map(view).ok_or_else(|| not_found(scope, &wanted.key))
                })
            })
            .await
    }

    /// A page of the preferences of a scope whose key begins with `prefix`, by key.
    pub async fn list(
        &self,
        caller: &Caller,
        (kind, id): (ScopeKind, Option<Uuid>),
        prefix: &str,
        query: &PageQuery,
    ) -> Result<Page<PreferenceView>, PreferenceError> {
        let request = PageRequest::<String>::check(query)?;
        let (after, fetch) = (request.before.clone(), request.fetch);
        let (caller, prefix) = (caller.clone(), prefix.to_owned());
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let scope = scope_of(&caller, kind, id)?;
                    may_read(tx, &caller, scope).await?;
                    let after = after.as_deref();
                    Ok::<_, PreferenceError>(
                        tx.preference_list(scope, &prefix, after, fetch).await?,
                    )
                })
            })
            .await?;
        Ok(request.page(found, |entry| entry.key.clone(), view))
    }
}

/// The scope that is meant; a user who names nobody means themselves.
fn scope_of(caller: &Caller, kind: ScopeKind, id: Option<Uuid>) -> Result<Scope, PreferenceError> {
    let own = (kind == ScopeKind::User).then_some(caller.user.as_uuid());
    Ok(Scope::new(kind, id.or(own))?)
}

/// Refuses what the caller may not see.
async fn may_read(tx: &mut Tx, caller: &Caller, scope: Scope) -> Result<(), PreferenceError> {
    match scope {
        Scope::System => Ok(()),
        Scope::Group(group) if groups::may_read(tx, caller, group).await? => Ok(()),
        Scope::Group(_) => Err(PreferenceError::Forbidden(
            "there is no such group, or its preferences are not yours to see",
        )),
        Scope::User(user) => own(caller, user),
        Scope::Project(project) => {
            Ok(projects::find(tx, caller, &project.to_string()).await.map(drop)?)
        }
        Scope::Task(task) => Ok(tasks::find(tx, caller, &task.to_string()).await.map(drop)?),
    }
}

fn own(caller: &Caller, user: UserId) -> Result<(), PreferenceError> {
    if caller.may_see(user) {
        return Ok(());
    }
    Err(PreferenceError::Forbidden("the preferences of another user are not yours to see"))
}

fn not_found(scope: Scope, key: &str) -> PreferenceError {
    PreferenceError::NotFound { scope: scope.kind(), key: key.chars().take(100).collect() }
}

fn view(entry: Preference) -> PreferenceView {
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
