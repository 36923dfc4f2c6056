//! What holds for a task, a project or a user.

use std::collections::BTreeMap;

use cynode_domain::ids::{ProjectId, TaskId, UserId};
use cynode_domain::preference::{Candidate, Resolved, Scope, resolve};
use cynode_store::{NewTask, Preference, PreferenceStore, Tx};
use cynode_wire::preferences::{EffectiveView, PreferenceSource, SkippedPreference};
use serde_json::Value;

use super::{PreferenceError, Preferences};
use crate::{Caller, groups, projects, tasks};

/// For what preferences are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A task: its own, its project's, its creator's and those of the creator's groups count.
    Task(TaskId),
    /// A project: its own, the caller's and those of the caller's groups.
    Project(ProjectId),
    /// The caller and the caller's groups.
    Caller,
}

impl Preferences {
    /// What holds; `with_sources` says where each value comes from.
    pub async fn effective(
        &self,
        caller: &Caller,
        subject: Subject,
        with_sources: bool,
    ) -> Result<EffectiveView, PreferenceError> {
        let caller = caller.clone();
        let resolved = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let scopes = scopes(tx, &caller, subject).await?;
                    Ok::<_, PreferenceError>(resolved(tx, scopes).await?)
                })
            })
            .await?;
        Ok(view(resolved, with_sources))
    }
}

/// What holds, and where each value comes from.
pub(crate) async fn with_sources(
    tx: &mut Tx,
    caller: &Caller,
    subject: Subject,
) -> Result<EffectiveView, PreferenceError> {
    let scopes = scopes(tx, caller, subject).await?;
    Ok(view(resolved(tx, scopes).await?, true))
}

/// What holds for a user in a project, whoever asks.
pub(crate) async fn for_project(
    tx: &mut Tx,
    user: UserId,
    project: ProjectId,
) -> Result<BTreeMap<String, Value>, cynode_store::Error> {
    let scopes = scopes_for(tx, user, [Scope::Project(project)]).await?;
    let won = resolved(tx, scopes).await?.effective;
    Ok(won.into_iter().map(|(key, winner)| (key, winner.value)).collect())
}

/// What holds for a task, whoever asks.
pub(crate) async fn for_task(tx: &mut Tx, task: &NewTask) -> Result<Resolved, cynode_store::Error> {
    let scopes = scopes_of(tx, task).await?;
    resolved(tx, scopes).await
}

async fn scopes_of(tx: &mut Tx, task: &NewTask) -> Result<Vec<Scope>, cynode_store::Error> {
    let more = [Scope::Project(task.project), Scope::Task(task.id)];
    scopes_for(tx, task.created_by, more).await
}

/// The scopes that count for a user, weakest first, and `more` above them.
async fn scopes_for(
    tx: &mut Tx,
    user: UserId,
    more: impl IntoIterator<Item = Scope> + Send,
) -> Result<Vec<Scope>, cynode_store::Error> {
    let groups = groups::ids_of(tx, user).await?;
    let mut scopes = vec![Scope::System];
    scopes.extend(groups.into_iter().map(Scope::Group));
    scopes.push(Scope::User(user));
    scopes.extend(more);
    Ok(scopes)
}

async fn resolved(tx: &mut Tx, scopes: Vec<Scope>) -> Result<Resolved, cynode_store::Error> {
    let entries = tx.preference_list_of(&scopes).await?;
    Ok(resolve(entries.into_iter().map(candidate).collect()))
}

/// The scopes that count.
async fn scopes(
    tx: &mut Tx,
    caller: &Caller,
    subject: Subject,
) -> Result<Vec<Scope>, PreferenceError> {
    let more = match subject {
        Subject::Task(task) => {
            let task = tasks::find(tx, caller, &task.to_string()).await?;
            return Ok(scopes_of(tx, &task.asked).await?);
        }
        Subject::Project(project) => {
            let project = projects::find(tx, caller, &project.to_string()).await?;
            vec![Scope::Project(project.id)]
        }
        Subject::Caller => vec![],
    };
    Ok(scopes_for(tx, caller.user, more).await?)
}

fn candidate(entry: Preference) -> Candidate {
    Candidate {
        scope: entry.scope,
        key: entry.key,
        value: entry.value,
        value_type: entry.value_type,
        version: entry.version,
    }
}

fn view(resolved: Resolved, with_sources: bool) -> EffectiveView {
    let source = |winner: &Candidate| PreferenceSource {
        scope_type: winner.scope.kind(),
        scope_id: winner.scope.id(),
        version: winner.version,
    };
    let won = &resolved.effective;
    EffectiveView {
        sources: with_sources
            .then(|| won.iter().map(|(key, winner)| (key.clone(), source(winner))).collect()),
        effective: won.iter().map(|(key, winner)| (key.clone(), winner.value.clone())).collect(),
        skipped: resolved
            .skipped
            .into_iter()
            .map(|skipped| SkippedPreference {
                scope_type: skipped.scope.kind(),
                scope_id: skipped.scope.id(),
                key: skipped.key,
                reason: skipped.reason,
            })
            .collect(),
    }
}
