//! A new task that asks for the same as another one.

use chrono::{DateTime, Utc};
use cynode_domain::ids::TaskId;
use cynode_domain::name::Slug;
use cynode_store::{NewTask, ProjectStore, Task, TaskStore, Tx};
use sha2::{Digest, Sha256};

use super::check::name_fault;
use super::create::known_by_key;
use super::{TaskError, find};
use crate::Caller;
use crate::projects::ProjectError;

/// Two copies with one name race for the next number; the loser tries again.
const NAME_TRIES: usize = 200;

/// What is different in a copy.
pub(crate) struct Copied {
    /// Its name; made from the old one when absent. Numbered if taken.
    pub(crate) name: Option<String>,
    /// Two copies of one user with the same key are one.
    pub(crate) key: Option<String>,
    /// When it is made.
    pub(crate) now: DateTime<Utc>,
}

/// Adds a copy of a task for the caller, without what the old one depends on; or gives the one that
/// was made before with the same key. True if it is new.
pub(crate) async fn copy(
    tx: &mut Tx,
    caller: &Caller,
    of: &Task,
    copied: &Copied,
) -> Result<(Task, bool), TaskError> {
    let stem = stem(of, copied)?;
    may_take(tx, of).await?;
    let mut task = NewTask {
        id: TaskId::generate(),
        created_by: caller.user,
        idempotency_key: copied.key.clone(),
        created_at: copied.now,
        ..of.asked.clone()
    };
    let asked = format!("copy of {} as {:?}", of.asked.id, copied.name);
    let hash = hex::encode(Sha256::digest(asked));
    for _ in 0..NAME_TRIES {
        if let Some(key) = &copied.key
            && let Some(known) = known_by_key(tx, caller.user, key, &hash).await?
        {
            return Ok((known, false));
        }
        let highest = tx.task_highest_number(caller.user, stem.as_str()).await?;
        task.name = stem.numbered(highest + 1).to_string();
        if tx.task_insert(&task).await? {
            if copied.key.is_some() {
                tx.task_set_request_hash(task.id, &hash).await?;
            }
            return Ok((find(tx, caller, &task.id.to_string()).await?, true));
        }
    }
    let fault = format!("no free name could be found for \"{stem}\": choose another");
    Err(TaskError::Invalid(vec![fault]))
}

/// The name that was asked for, or the old one without its number.
fn stem(of: &Task, copied: &Copied) -> Result<Slug, TaskError> {
    let old = of.asked.name.as_str();
    let name = match &copied.name {
        Some(name) => name.as_str(),
        None => match old.rsplit_once('-') {
            Some((stem, number)) if number.parse::<u32>().is_ok() => stem,
            _ => old,
        },
    };
    let mut faults: Vec<_> = name_fault(name).into_iter().collect();
    let is_bad_key = |key: &String| key.is_empty() || key.len() > 200 || key.contains('\0');
    if copied.key.as_ref().is_some_and(is_bad_key) {
        faults.push("idempotency_key needs 1 to 200 bytes, none of them NUL".to_owned());
    }
    match Slug::normalise(name) {
        Ok(slug) if faults.is_empty() => Ok(slug),
        _ => Err(TaskError::Invalid(faults)),
    }
}

/// The project must still take tasks.
async fn may_take(tx: &mut Tx, of: &Task) -> Result<(), TaskError> {
    match tx.project_get(of.asked.project).await? {
        Some(project) if !project.is_active => {
            let fault = format!("project \"{}\" takes no new tasks", project.slug);
            Err(ProjectError::Invalid(vec![fault]).into())
        }
        _ => Ok(()),
    }
}
