//! Copying a task for a fork.

use chrono::{DateTime, Utc};
use cynode_domain::ids::TaskId;
use cynode_domain::name::Slug;
use cynode_domain::policy::repository_access::RepositoryAction;
use cynode_store::{NewTask, Task, Tx};
use sha2::{Digest, Sha256};

use super::TaskError;
use super::creation::{default_branch, load_by_idempotency_key};
use super::validation::{validate_idempotency_key, validate_task_name};
use cynode_resources::projects;
use cynode_resources::{Caller, RepositoryCheck};

/// Concurrent copies race for the next free number of a name; the loser retries.
const NAME_TRIES: usize = 200;

/// The fields in which a copy differs from its original.
pub struct TaskCopyRequest {
    /// Defaults to the name of the original without its number; numbered if taken.
    pub name: Option<String>,
    /// Idempotency key, per user.
    pub key: Option<String>,
    pub now: DateTime<Utc>,
}

/// Inserts a copy of a task for the caller, without its dependencies, or returns the copy that was made earlier
/// with the same key. It works on the same repository, on a branch of its own. The flag is true if the copy is new.
///
/// A denial of the repository is recorded by the caller, after the transaction that it ends.
pub async fn copy_task(
    tx: &mut Tx,
    caller: &Caller,
    of: &Task,
    copied: &TaskCopyRequest,
) -> Result<(Task, bool), TaskError> {
    if of.spec.options.push.is_some() {
        let fault = "a push cannot be forked: push the changes again with `cynork task push`";
        return Err(TaskError::Invalid(vec![fault.to_owned()]));
    }
    if let Some(agent) = of.spec.options.agent.as_ref().filter(|agent| agent.is_canary) {
        let command = format!("cynork agent canary {}", agent.profile);
        let fault = format!("a canary run cannot be forked: start another one with `{command}`");
        return Err(TaskError::Invalid(vec![fault]));
    }
    let stem = name_stem(of, copied)?;
    require_active_project(tx, of).await?;
    require_profile(tx, of).await?;
    let mut task = NewTask {
        id: TaskId::generate(),
        created_by: caller.user,
        idempotency_key: copied.key.clone(),
        created_at: copied.now,
        ..of.spec.clone()
    };
    // The fork starts with files that the first run left.
    task.options.trigger = None;
    let request = format!("copy of {} as {:?}", of.spec.id, copied.name);
    let hash = hex::encode(Sha256::digest(request));
    for _ in 0..NAME_TRIES {
        if let Some(key) = &copied.key
            && let Some(known) = load_by_idempotency_key(tx, caller.user, key, &hash).await?
        {
            return Ok((known, false));
        }
        let highest = tx.task_highest_number(caller.user, stem.as_str()).await?;
        task.name = stem.numbered(highest + 1).to_string();
        if let Some(repository) = &mut task.options.repository {
            // Also if the original names a branch: both would push to it.
            repository.branch = default_branch(&task.name);
        }
        if tx.task_insert(&task).await? {
            // Not earlier: a repeated request returns its copy, whatever the rules are now.
            require_clone(tx, &task).await?;
            if copied.key.is_some() {
                tx.task_set_request_hash(task.id, &hash).await?;
            }
            return Ok((Task::from_new(task), true));
        }
    }
    let fault = format!("no free name was found for \"{stem}\": choose another");
    Err(TaskError::Invalid(vec![fault]))
}

/// The requested name, or the name of the original without its number.
fn name_stem(of: &Task, copied: &TaskCopyRequest) -> Result<Slug, TaskError> {
    let old = of.spec.name.as_str();
    let name = match &copied.name {
        Some(name) => name.as_str(),
        None => match old.rsplit_once('-') {
            Some((stem, number)) if number.parse::<u32>().is_ok() => stem,
            _ => old,
        },
    };
    let mut faults: Vec<_> = validate_task_name(name).into_iter().collect();
    faults.extend(copied.key.as_deref().and_then(validate_idempotency_key));
    match Slug::normalise(name) {
        Ok(slug) if faults.is_empty() => Ok(slug),
        _ => Err(TaskError::Invalid(faults)),
    }
}

/// Rejects a copy whose profile was deleted: it would work in another one.
async fn require_profile(tx: &mut Tx, of: &Task) -> Result<(), TaskError> {
    match of.spec.profile_id {
        Some(profile) if !tx.profile_hold(profile).await? => {
            let fault = "the profile of the task was deleted: create a new task";
            Err(TaskError::Invalid(vec![fault.to_owned()]))
        }
        _ => Ok(()),
    }
}

/// Rejects a copy into an inactive project.
async fn require_active_project(tx: &mut Tx, of: &Task) -> Result<(), TaskError> {
    match tx.project_get(of.spec.project).await? {
        Some(project) => Ok(projects::require_active(&project)?),
        None => Ok(()),
    }
}

/// Rejects a copy whose repository its creator may not have cloned: the original may be another user's, and the rules may
/// have changed since it was created.
async fn require_clone(tx: &mut Tx, copy: &NewTask) -> Result<(), TaskError> {
    let Some(repository) = &copy.options.repository else { return Ok(()) };
    let check = RepositoryCheck {
        action: RepositoryAction::Clone,
        url: repository.url.clone(),
        user: copy.created_by,
        project: Some(copy.project),
        // A denied copy does not exist.
        task: None,
    };
    match check.find_denial(tx).await? {
        Some(denial) => Err(denial.into()),
        None => Ok(()),
    }
}
