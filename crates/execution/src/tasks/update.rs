//! Updating an open task: its name and acceptance criteria.
//!
//! People may change the criteria of their open tasks freely. An agent may add criteria and make prose stricter, and
//! may not weaken them. Once the last step is being verified, the criteria are frozen.

use chrono::{DateTime, SubsecRound, TimeDelta, Utc};
use cynode_domain::criteria::{Criterion, check_agent_change};
use cynode_domain::ids::TaskId;
use cynode_domain::name::Slug;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::run::{FINALIZE_NODE, MARK_FAILED_NODE, VERIFY_NODE, next_node};
use cynode_store::{Checkpoint, Error, Task, Tx};
use cynode_wire::tasks::{TaskView, UpdateTask};
use cynode_workflow_state::StoredPosition;
use serde_json::json;

use super::validation::{validate_criteria, validate_task_name};
use super::{TaskError, TaskService, find, lock_task, task_event, view};
use cynode_resources::ActorKind;
use cynode_resources::Caller;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::signals::Topic;

impl TaskService {
    /// Updates an open task, as the calling person or as an agent on their behalf. An update to the current values
    /// has no effect.
    pub async fn update(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
        request: UpdateTask,
        actor_kind: ActorKind,
    ) -> Result<TaskView, TaskError> {
        let request = UpdateTask {
            task_name: request.task_name.redact_secrets(),
            acceptance_criteria: request.acceptance_criteria.redact_secrets(),
            ..request
        };
        let faults = validate_update(&request);
        if !faults.is_empty() {
            return Err(TaskError::Invalid(faults));
        }
        let (caller, task, now) = (caller.clone(), task.to_owned(), self.clock.now());
        let updated = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let change = TaskChange { caller, request, actor_kind, now };
                    change.execute(tx, &task).await
                })
            })
            .await?;
        self.signals.send(Topic::Events);
        Ok(updated)
    }
}

/// An update request with its caller.
struct TaskChange {
    caller: Caller,
    request: UpdateTask,
    actor_kind: ActorKind,
    now: DateTime<Utc>,
}

impl TaskChange {
    async fn execute(
        &self,
        tx: &mut Tx,
        name_or_id: &NameOrId<TaskId>,
    ) -> Result<TaskView, TaskError> {
        let seen = find(tx, &self.caller, name_or_id).await?;
        let mut task = lock_task(tx, seen.spec.id).await?;
        self.reject_frozen(tx, &task).await?;
        let changed = self.apply_changes(tx, &mut task).await?;
        if changed.is_empty() {
            return view(tx, task).await;
        }
        // `updated_at` always increases, so that clients can detect two changes in quick succession.
        let next = task.updated_at + TimeDelta::microseconds(1);
        task.updated_at = self.now.trunc_subsecs(6).max(next);
        let updated = tx.task_update(&task).await;
        updated.map_err(|error| map_update_error(error, &task.spec.name))?;
        let by = self.actor_kind.display_name(&self.caller);
        let data = json!({ "by": by, "changed": changed, "task_name": task.spec.name });
        tx.event_append(&task_event(&task, "task.updated", data)).await?;
        view(tx, task).await
    }

    async fn reject_frozen(&self, tx: &mut Tx, task: &Task) -> Result<(), TaskError> {
        if task.status.is_terminal() {
            return Err(TaskError::Closed { status: task.status.to_shown() });
        }
        if self.request.expected_updated_at.is_some_and(|seen| seen != task.updated_at) {
            return Err(TaskError::Conflict);
        }
        let checkpoint = tx.checkpoint_get(task.spec.id).await?;
        if self.request.acceptance_criteria.is_some()
            && checkpoint.as_ref().is_some_and(are_criteria_frozen)
        {
            return Err(TaskError::CriteriaFrozen);
        }
        Ok(())
    }

    /// Applies the change in memory; returns the names of the changed fields.
    async fn apply_changes(
        &self,
        tx: &mut Tx,
        task: &mut Task,
    ) -> Result<Vec<&'static str>, TaskError> {
        let mut changed = vec![];
        let name = self.request.task_name.as_deref().and_then(|name| Slug::normalise(name).ok());
        if let Some(name) = name.filter(|name| name.as_str() != task.spec.name) {
            let owner = task.spec.created_by;
            if tx.task_by_name(owner, name.as_str()).await?.is_some() {
                return Err(TaskError::NameTaken(name.to_string()));
            }
            task.spec.name = name.to_string();
            changed.push("task_name");
        }
        if let Some(criteria) = &self.request.acceptance_criteria
            && *criteria != task.spec.acceptance_criteria
        {
            self.validate_criteria_change(&task.spec.acceptance_criteria, criteria)?;
            task.spec.acceptance_criteria.clone_from(criteria);
            changed.push("acceptance_criteria");
        }
        Ok(changed)
    }

    fn validate_criteria_change(
        &self,
        before: &[Criterion],
        after: &[Criterion],
    ) -> Result<(), TaskError> {
        match self.actor_kind {
            ActorKind::Person => Ok(()),
            ActorKind::Agent => Ok(check_agent_change(before, after)?),
        }
    }
}

/// Maps a store error. Only the name is unique, so a duplicate means that a concurrent update took it.
fn map_update_error(error: Error, name: &str) -> TaskError {
    if error.is_duplicate() {
        TaskError::NameTaken(name.to_owned())
    } else {
        TaskError::from(error)
    }
}

/// Whether the last step is being verified, or has been.
fn are_criteria_frozen(checkpoint: &Checkpoint) -> bool {
    match next_node(&checkpoint.last_node, &checkpoint.edge) {
        Some(VERIFY_NODE) => {
            // The last step may be in verification if the state does not tell.
            StoredPosition::read(&checkpoint.state)
                .map_or(true, |position| position.is_at_last_step())
        }
        Some(FINALIZE_NODE | MARK_FAILED_NODE) => true,
        Some(_) | None => false,
    }
}

fn validate_update(request: &UpdateTask) -> Vec<String> {
    let mut faults = vec![];
    if request.task_name.is_none() && request.acceptance_criteria.is_none() {
        faults.push("nothing to change: give task_name or acceptance_criteria".to_owned());
    }
    faults.extend(request.task_name.as_deref().and_then(validate_task_name));
    faults.extend(request.acceptance_criteria.iter().flat_map(|all| validate_criteria(all)));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint_at(node: &str, edge: &str, step: u32) -> Checkpoint {
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
        assert!(!are_criteria_frozen(&checkpoint_at("dispatch_step", "dispatched", 1)));
        assert!(!are_criteria_frozen(&checkpoint_at("collect_result", "collected", 0)));
        assert!(are_criteria_frozen(&checkpoint_at("collect_result", "collected", 1)));
        assert!(are_criteria_frozen(&checkpoint_at("verify_step_result", "all_verified", 1)));
        assert!(are_criteria_frozen(&checkpoint_at("plan_steps", "failed", 0)));
        assert!(!are_criteria_frozen(&checkpoint_at("verify_step_result", "retry_step", 1)));
    }

    #[test]
    fn a_name_that_somebody_took_meanwhile_is_taken() {
        let duplicate = Error::Duplicate { constraint: "tasks_name".to_owned() };

        assert!(
            matches!(map_update_error(duplicate, "report"), TaskError::NameTaken(name) if name == "report")
        );
        assert!(!matches!(map_update_error(Error::Closed, "report"), TaskError::NameTaken(_)));
    }

    #[test]
    fn a_change_must_change_something_and_be_sound() {
        let empty = UpdateTask::default();
        let acceptance_criteria = Some(vec![Criterion::FileExists { path: String::new() }]);
        let bad = UpdateTask { acceptance_criteria, ..UpdateTask::default() };

        assert_eq!(validate_update(&empty).len(), 1);
        assert_eq!(validate_update(&bad), ["acceptance criterion: file_exists needs a path"]);
    }
}
