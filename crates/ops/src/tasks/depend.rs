//! Making a task wait for another one.

use std::collections::HashSet;

use cynode_domain::ids::TaskId;
use cynode_domain::status::TaskStatus;
use cynode_store::{TaskStore, Tx};
use cynode_wire::tasks::{AddDependency, TaskView};

use super::{TaskError, Tasks, find, lock, view};
use crate::Caller;

impl Tasks {
    /// Makes a queued task wait for another one, unless they would wait for each other.
    pub async fn depend(
        &self,
        caller: &Caller,
        task: &str,
        request: AddDependency,
    ) -> Result<TaskView, TaskError> {
        let (caller, task) = (caller.clone(), task.to_owned());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    tx.dependency_lock().await?;
                    // Locked from above to below, as a cancellation goes: neither may close or
                    // start while the other is tied to it.
                    let on = find(tx, &caller, &request.depends_on).await?.asked.id;
                    let on = lock(tx, on).await?;
                    let task = find(tx, &caller, &task).await?.asked.id;
                    let task = lock(tx, task).await?;
                    if task.status != TaskStatus::Pending {
                        return Err(TaskError::Started);
                    }
                    if reaches(tx, on.asked.id, task.asked.id).await? {
                        return Err(TaskError::Cycle { task: task.asked.name, on: on.asked.name });
                    }
                    if on.status.is_terminal() && on.status != TaskStatus::Completed {
                        let status = on.status.shown();
                        return Err(TaskError::DeadDependency { name: on.asked.name, status });
                    }
                    tx.dependency_insert(task.asked.id, on.asked.id).await?;
                    view(tx, task).await
                })
            })
            .await
    }
}

/// Whether `from` waits, directly or through others, for `to`; a task counts as reaching itself.
async fn reaches(tx: &mut Tx, from: TaskId, to: TaskId) -> Result<bool, TaskError> {
    let (mut seen, mut open) = (HashSet::new(), vec![from]);
    while let Some(task) = open.pop() {
        if task == to {
            return Ok(true);
        }
        if seen.insert(task) {
            open.extend(tx.dependency_list(task).await?);
        }
    }
    Ok(false)
}
