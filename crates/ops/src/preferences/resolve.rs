//! What holds for a task, a project or a user.

use cynode_domain::ids::{ProjectId, TaskId};
use cynode_domain::preference::{Candidate, Resolved, Scope, resolve};
use cynode_store::{Preference, PreferenceStore, Tx};
use cynode_wire::preferences::{EffectiveView, PreferenceSource, SkippedPreference};

use super::write::MAX_ENTRIES;
use super::{PreferenceError, Preferences};
use crate::{Caller, projects, tasks};

/// For what preferences are resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// A task: its own, its project's and its creator's preferences count.
    Task(TaskId),
    /// A project: its own and the caller's.
    Project(ProjectId),
    /// The caller alone.
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
        let entries = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let mut entries = vec![];
                    for scope in scopes(tx, &caller, subject).await? {
                        entries.extend(tx.preference_list(scope, "", None, MAX_ENTRIES).await?);
                    }
                    Ok::<_, PreferenceError>(entries)
                })
            })
            .await?;
        let resolved = resolve(entries.into_iter().map(candidate).collect());
        Ok(view(resolved, with_sources))
    }
}

/// The scopes that count. Users are in no groups yet.
async fn scopes(
    tx: &mut Tx,
    caller: &Caller,
    subject: Subject,
) -> Result<Vec<Scope>, PreferenceError> {
    let (user, more) = match subject {
        Subject::Task(task) => {
            let task = tasks::find(tx, caller, &task.to_string()).await?.asked;
            (task.created_by, vec![Scope::Project(task.project), Scope::Task(task.id)])
        }
        Subject::Project(project) => {
            let project = projects::find(tx, caller, &project.to_string()).await?;
            (caller.user, vec![Scope::Project(project.id)])
        }
        Subject::Caller => (caller.user, vec![]),
    };
    Ok([Scope::System, Scope::User(user)].into_iter().chain(more).collect())
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
