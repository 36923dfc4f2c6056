//! Adding a dependency between tasks.

use std::collections::HashSet;

use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::status::TaskStatus;
use cynode_store::Tx;
use cynode_wire::tasks::{AddDependency, TaskView};

use super::{TaskError, TaskService, find, lock_task, view};
use cynode_resources::Caller;

impl TaskService {
    /// Adds a dependency to a queued task; rejects cycles.
    pub async fn add_dependency(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
        request: AddDependency,
    ) -> Result<TaskView, TaskError> {
        let (caller, task) = (caller.clone(), task.to_owned());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    tx.dependency_lock().await?;
                    // The dependency is locked first, in the lock order of a cancellation: neither task may
                    // close or start meanwhile.
                    let on = find(tx, &caller, &request.depends_on.as_str().into()).await?.spec.id;
                    let on = lock_task(tx, on).await?;
                    let task = find(tx, &caller, &task).await?.spec.id;
                    let task = lock_task(tx, task).await?;
                    if task.status != TaskStatus::Pending {
                        return Err(TaskError::AlreadyStarted);
                    }
                    if depends_on(tx, on.spec.id, task.spec.id).await? {
                        return Err(TaskError::DependencyCycle {
                            task: task.spec.name,
                            on: on.spec.name,
                        });
                    }
                    if on.status.is_terminal() && on.status != TaskStatus::Completed {
                        let status = on.status.to_shown();
                        return Err(TaskError::ClosedDependency { name: on.spec.name, status });
                    }
                    tx.dependency_insert(task.spec.id, on.spec.id).await?;
                    view(tx, task).await
                })
            })
            .await
    }
}

/// Whether `from` depends on `to`, directly or transitively; a task reaches itself.
async fn depends_on(tx: &mut Tx, from: TaskId, to: TaskId) -> Result<bool, TaskError> {
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
