//! Changing a task that is under way: its name, and what must be true of its result.
//!
//! People change the criteria of their open tasks as they like. An agent adds to them and sharpens
//! prose, and takes nothing away that was asked for. Once the result of the last step is being judged,
//! nobody moves the mark any more.

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use cynode_domain::criteria::{Criterion, check_agents_change};
use cynode_domain::name::Slug;
use cynode_domain::plan::Plan;
use cynode_domain::run::{FINALIZE, MARK_FAILED, VERIFY, next_node};
use cynode_store::{Checkpoint, Error, EventStore, Task, TaskStore, Tx, WorkflowStore};
use cynode_wire::tasks::{TaskView, UpdateTask};
use serde::Deserialize;
use serde_json::json;

use super::check::{criteria_faults, name_fault};
use super::{TaskError, Tasks, event, find, lock, view};
use crate::Caller;
use crate::runs::Voice;
use crate::secrets::WithoutSecrets as _;
use crate::signals::Topic;

impl Tasks {
    /// Changes an open task, as the person who asks or as an agent that acts for them. What is asked
    /// for already changes nothing.
    pub async fn update(
        &self,
        caller: &Caller,
        task: &str,
        request: UpdateTask,
        voice: Voice,
    ) -> Result<TaskView, TaskError> {
        let request = UpdateTask {
            task_name: request.task_name.without_secrets(),
            acceptance_criteria: request.acceptance_criteria.without_secrets(),
            ..request
        };
        let faults = faults(&request);
        if !faults.is_empty() {
            return Err(TaskError::Invalid(faults));
        }
        let (caller, task, now) = (caller.clone(), task.to_owned(), self.clock.now());
        let updated = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let change = Change { caller, request, voice, now };
                    change.make(tx, &task).await
                })
            })
            .await?;
        self.signals.send(Topic::Events);
        Ok(updated)
    }
}

/// A change on its way in.
struct Change {
    caller: Caller,
    request: UpdateTask,
    voice: Voice,
    now: DateTime<Utc>,
}

impl Change {
    async fn make(&self, tx: &mut Tx, wanted: &str) -> Result<TaskView, TaskError> {
        let seen = find(tx, &self.caller, wanted).await?;
        let mut task = lock(tx, seen.asked.id).await?;
        self.refuse_closed(tx, &task).await?;
        let changed = self.apply(tx, &mut task).await?;
        if changed.is_empty() {
            return view(tx, task).await;
        }
        // Whoever compares times of change must see one, however fast two of them follow.
        let next = task.updated_at + TimeDelta::microseconds(1);
        task.updated_at = self.now.trunc_subsecs(6).max(next);
        let updated = tx.task_update(&task).await;
        updated.map_err(|error| refused(error, &task.asked.name))?;
        let by = self.voice.of(&self.caller);
        let data = json!({ "by": by, "changed": changed, "task_name": task.asked.name });
        tx.event_append(&event(&task, "task.updated", data)).await?;
        view(tx, task).await
    }

    async fn refuse_closed(&self, tx: &mut Tx, task: &Task) -> Result<(), TaskError> {
        if task.status.is_terminal() {
            return Err(TaskError::Closed { status: task.status.shown() });
        }
        if self.request.expected_updated_at.is_some_and(|seen| seen != task.updated_at) {
            return Err(TaskError::Changed);
        }
        let checkpoint = tx.checkpoint_get(task.asked.id).await?;
        if self.request.acceptance_criteria.is_some() && checkpoint.as_ref().is_some_and(is_judged)
        {
            return Err(TaskError::Judged);
        }
        Ok(())
    }

    /// Makes the change in memory, and gives the names of what is another than before.
    async fn apply(&self, tx: &mut Tx, task: &mut Task) -> Result<Vec<&'static str>, TaskError> {
        let mut changed = vec![];
        let name = self.request.task_name.as_deref().and_then(|name| Slug::normalise(name).ok());
        if let Some(name) = name.filter(|name| name.as_str() != task.asked.name) {
            let owner = task.asked.created_by;
            if tx.task_by_name(owner, name.as_str()).await?.is_some() {
                return Err(TaskError::NameTaken(name.to_string()));
            }
            task.asked.name = name.to_string();
            changed.push("task_name");
        }
        if let Some(criteria) = &self.request.acceptance_criteria
            && *criteria != task.asked.acceptance_criteria
        {
            self.check(&task.asked.acceptance_criteria, criteria)?;
            task.asked.acceptance_criteria.clone_from(criteria);
            changed.push("acceptance_criteria");
        }
        Ok(changed)
    }

    fn check(&self, before: &[Criterion], after: &[Criterion]) -> Result<(), TaskError> {
        match self.voice {
            Voice::Person => Ok(()),
            Voice::Agent => Ok(check_agents_change(before, after)?),
        }
    }
}

/// Why the database refused a change. Only names are unique: somebody took this one a moment ago.
fn refused(error: Error, name: &str) -> TaskError {
    if error.is_duplicate() {
        TaskError::NameTaken(name.to_owned())
    } else {
        TaskError::from(error)
    }
}

/// Whether the result of the last step is being judged, or has been.
fn is_judged(checkpoint: &Checkpoint) -> bool {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Known {
        plan: Plan,
        current_step_index: usize,
    }
    match next_node(&checkpoint.last_node, &checkpoint.edge) {
        Some(VERIFY) => {
            let known = Known::deserialize(&checkpoint.state).unwrap_or_default();
            known.current_step_index + 1 >= known.plan.steps.len()
        }
        Some(FINALIZE | MARK_FAILED) => true,
        Some(_) | None => false,
    }
}

fn faults(request: &UpdateTask) -> Vec<String> {
    let mut faults = vec![];
    if request.task_name.is_none() && request.acceptance_criteria.is_none() {
        faults.push("there is nothing to change: give task_name or acceptance_criteria".to_owned());
    }
    faults.extend(request.task_name.as_deref().and_then(name_fault));
    faults.extend(request.acceptance_criteria.iter().flat_map(|all| criteria_faults(all)));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn standing(node: &str, edge: &str, step: u32) -> Checkpoint {
        let make =
            json!({ "action": { "kind": "command", "line": "make" }, "expected_outputs": [] });
        Checkpoint {
            state: json!({
                "plan": { "steps": [make.clone(), make], "assumptions": [] },
                "current_step_index": step,
            }),
            last_node: node.to_owned(),
            edge: edge.to_owned(),
            sequence: 4,
            updated_at: DateTime::UNIX_EPOCH,
        }
    }

    #[test]
    fn criteria_stand_once_the_last_step_is_judged() {
        assert!(!is_judged(&standing("dispatch_step", "dispatched", 1)));
        assert!(!is_judged(&standing("collect_result", "collected", 0)));
        assert!(is_judged(&standing("collect_result", "collected", 1)));
        assert!(is_judged(&standing("verify_step_result", "all_verified", 1)));
        assert!(is_judged(&standing("plan_steps", "failed", 0)));
        assert!(!is_judged(&standing("verify_step_result", "retry_step", 1)));
    }

    #[test]
    fn a_name_that_somebody_took_meanwhile_is_taken() {
        let duplicate = Error::Duplicate { constraint: "tasks_name".to_owned() };

        assert!(
            matches!(refused(duplicate, "report"), TaskError::NameTaken(name) if name == "report")
        );
        assert!(!matches!(refused(Error::Closed, "report"), TaskError::NameTaken(_)));
    }

    #[test]
    fn a_change_must_change_something_and_be_sound() {
        let empty = UpdateTask::default();
        let acceptance_criteria = Some(vec![Criterion::FileExists { path: String::new() }]);
        let bad = UpdateTask { acceptance_criteria, ..UpdateTask::default() };

        assert_eq!(faults(&empty).len(), 1);
        assert_eq!(faults(&bad), ["acceptance criterion: file_exists needs a path"]);
    }
}
