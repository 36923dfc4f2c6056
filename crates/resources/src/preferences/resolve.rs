//! Resolution of the effective preferences of a task, a project or a user.

use std::collections::BTreeMap;

use cynode_domain::ids::{ProjectId, TaskId, UserId};
use cynode_domain::preference::{
    EffectivePreferences, PreferenceCandidate, Scope, resolve_preferences,
};
use cynode_store::{NewTask, Preference, Tx};
use cynode_wire::preferences::{EffectiveView, PreferenceSource, SkippedPreference};
use serde_json::Value;

use super::{PreferenceError, PreferenceService};
use crate::{Caller, groups, projects};

/// The subject for which preferences are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreferenceSubject {
    /// Scopes: the task, its project, its creator and the creator's groups.
    Task(TaskId),
    /// Scopes: the project, the caller and the caller's groups.
    Project(ProjectId),
    /// Scopes: the caller and the caller's groups.
    Caller,
}

impl PreferenceService {
    /// Returns the effective preferences; `effective_with_sources` adds the scope of each value.
    pub async fn effective(
        &self,
        caller: &Caller,
        subject: PreferenceSubject,
        with_sources: bool,
    ) -> Result<EffectiveView, PreferenceError> {
        let caller = caller.clone();
        let resolved = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let scopes = scopes_of_subject(tx, &caller, subject).await?;
                    Ok::<_, PreferenceError>(resolve_scopes(tx, scopes).await?)
                })
            })
            .await?;
        Ok(effective_view(resolved, with_sources))
    }
}

/// Resolves the effective preferences, with the scope of each value.
pub async fn effective_with_sources(
    tx: &mut Tx,
    caller: &Caller,
    subject: PreferenceSubject,
) -> Result<EffectiveView, PreferenceError> {
    let scopes = scopes_of_subject(tx, caller, subject).await?;
    Ok(effective_view(resolve_scopes(tx, scopes).await?, true))
}

/// Resolves the effective preferences of a user in a project, without an access check.
pub async fn effective_for_project(
    tx: &mut Tx,
    user: UserId,
    project: ProjectId,
) -> Result<BTreeMap<String, Value>, cynode_store::Error> {
    let scopes = scopes_of_user(tx, user, [Scope::Project(project)]).await?;
    let won = resolve_scopes(tx, scopes).await?.effective;
    Ok(won.into_iter().map(|(key, winner)| (key, winner.value)).collect())
}

/// Resolves the effective preferences of a task, without an access check.
pub async fn effective_for_task(
    tx: &mut Tx,
    task: &NewTask,
) -> Result<EffectivePreferences, cynode_store::Error> {
    let scopes = scopes_of_task(tx, task).await?;
    resolve_scopes(tx, scopes).await
}

async fn scopes_of_task(tx: &mut Tx, task: &NewTask) -> Result<Vec<Scope>, cynode_store::Error> {
    let more = [Scope::Project(task.project), Scope::Task(task.id)];
    scopes_of_user(tx, task.created_by, more).await
}

/// The scopes of a user, weakest first, followed by `more`.
async fn scopes_of_user(
    tx: &mut Tx,
    user: UserId,
    more: impl IntoIterator<Item = Scope> + Send,
) -> Result<Vec<Scope>, cynode_store::Error> {
    let groups = groups::load_group_ids(tx, user).await?;
    let mut scopes = vec![Scope::System];
    scopes.extend(groups.into_iter().map(Scope::Group));
    scopes.push(Scope::User(user));
    scopes.extend(more);
    Ok(scopes)
}

async fn resolve_scopes(
    tx: &mut Tx,
    scopes: Vec<Scope>,
) -> Result<EffectivePreferences, cynode_store::Error> {
    let entries = tx.preference_list_scopes(&scopes).await?;
    Ok(resolve_preferences(entries.into_iter().map(candidate).collect()))
}

/// The scopes of a subject, weakest first; fails if the caller may not see it.
async fn scopes_of_subject(
    tx: &mut Tx,
    caller: &Caller,
    subject: PreferenceSubject,
) -> Result<Vec<Scope>, PreferenceError> {
    let more = match subject {
        PreferenceSubject::Task(task) => {
            let task = super::find_task(tx, caller, task).await?;
            return Ok(scopes_of_task(tx, &task.spec).await?);
        }
        PreferenceSubject::Project(project) => {
            let project = projects::find(tx, caller, &project.into()).await?;
            vec![Scope::Project(project.id)]
        }
        PreferenceSubject::Caller => vec![],
    };
    Ok(scopes_of_user(tx, caller.user, more).await?)
}

fn candidate(entry: Preference) -> PreferenceCandidate {
    PreferenceCandidate {
        scope: entry.scope,
        key: entry.key,
        value: entry.value,
        value_type: entry.value_type,
        version: entry.version,
    }
}

fn effective_view(resolved: EffectivePreferences, with_sources: bool) -> EffectiveView {
    let source = |winner: &PreferenceCandidate| PreferenceSource {
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
