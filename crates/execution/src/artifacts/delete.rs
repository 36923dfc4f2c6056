//! Deleting files of closed tasks. Their content is collected later, unless another file has it too.

use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_runtime::failpoint;
use cynode_store::{DeletedFiles, Tx};
use cynode_wire::artifacts::{DeleteArtifacts, DeletedArtifactsView, MAX_DELETED_PATHS};
use serde_json::json;

use super::{ArtifactError, ArtifactService};
use crate::tasks;
use cynode_resources::Caller;

/// How many paths the event names.
const EVENT_PATHS: usize = 100;

impl ArtifactService {
    /// Deletes files of a closed task, with their earlier versions, in one transaction: all of them, or those at the
    /// paths. Fails, and deletes none, if a path has no file.
    pub async fn delete(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
        request: DeleteArtifacts,
    ) -> Result<DeletedArtifactsView, ArtifactError> {
        let paths = request.paths.as_deref();
        if paths.is_some_and(|paths| paths.is_empty() || paths.len() > MAX_DELETED_PATHS) {
            let fault = format!("paths must have 1 to {MAX_DELETED_PATHS} items, or be absent");
            return Err(ArtifactError::Invalid(vec![fault]));
        }
        let (caller, task) = (caller.clone(), task.to_owned());
        let deleted = self
            .store
            .write(move |tx| {
                Box::pin(async move { delete_files(tx, &caller, &task, request.paths).await })
            })
            .await?;
        let DeletedFiles { files, freed_bytes, .. } = deleted;
        Ok(DeletedArtifactsView { files, freed_bytes })
    }
}

async fn delete_files(
    tx: &mut Tx,
    caller: &Caller,
    task: &NameOrId<TaskId>,
    paths: Option<Vec<String>>,
) -> Result<DeletedFiles, ArtifactError> {
    let seen = tasks::find(tx, caller, task).await?;
    // A retry or a fork of the task waits, or is seen here.
    let task = tasks::lock_task(tx, seen.spec.id).await?;
    if !task.status.is_terminal() {
        let (name, status) = (task.spec.name, task.status.to_shown());
        return Err(ArtifactError::TaskOpen { name, status });
    }
    let mut sum = DeletedFiles::default();
    match &paths {
        None => sum = tx.artifact_delete(task.spec.id, None).await?,
        Some(paths) => {
            for path in paths {
                let deleted = tx.artifact_delete(task.spec.id, Some(path)).await?;
                if deleted.freed_bytes == 0 && deleted.files == 0 {
                    return Err(ArtifactError::NotFound(path.clone()));
                }
                sum.files += deleted.files;
                sum.freed_bytes += deleted.freed_bytes;
            }
        }
    }
    let named: Vec<_> = paths.iter().flatten().take(EVENT_PATHS).collect();
    let data = json!({
        "by": caller.handle, "files": sum.files, "freed_bytes": sum.freed_bytes, "paths": named,
    });
    let event = tasks::task_event(&task, "task.artifacts_deleted", data);
    tx.event_append(&event).await?;
    failpoint::hit("artifacts_deleted", "task");
    Ok(sum)
}
