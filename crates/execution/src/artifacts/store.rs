//! Storing a file that a tool call uploads, outside of any job.

use std::convert::Infallible;

use bytes::Bytes;
use cynode_domain::ids::{ArtifactId, TaskId};
use cynode_domain::name_or_id::NameOrId;
use cynode_store::Artifact;
use cynode_wire::artifacts::ArtifactView;
use futures_util::stream;

use super::{
    ArtifactError, ArtifactService, MAX_ARTIFACT_BYTES, OUTPUT, artifact_view,
    validate_artifact_path,
};
use crate::tasks;
use cynode_resources::Caller;

impl ArtifactService {
    /// Stores a file of a task that the caller may see. The newest content at a path wins.
    pub async fn store(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
        path: &str,
        content: Bytes,
    ) -> Result<ArtifactView, ArtifactError> {
        validate_artifact_path(path).map_err(ArtifactError::BadPath)?;
        let chunks = stream::iter([Ok::<_, Infallible>(content)]);
        let blob = self.blobs.put(chunks, MAX_ARTIFACT_BYTES).await?;
        let (caller, task, path, now) =
            (caller.clone(), task.to_owned(), path.to_owned(), self.clock.now());
        let stored = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let task = tasks::find(tx, &caller, &task).await?.spec.id;
                    let artifact = Artifact {
                        id: ArtifactId::generate(),
                        task,
                        job: None,
                        kind: OUTPUT.to_owned(),
                        path,
                        size_bytes: blob.size_bytes,
                        sha256: blob.sha256,
                        created_at: now,
                    };
                    Ok::<_, ArtifactError>(tx.artifact_put(&artifact).await?)
                })
            })
            .await?;
        Ok(artifact_view(stored))
    }
}
