//! Storing a file that a tool call uploads, outside of any job.

use std::convert::Infallible;

use bytes::Bytes;
use cynode_domain::ids::{ArtifactId, TaskId};
use cynode_domain::name_or_id::NameOrId;
use cynode_store::Artifact;
use cynode_wire::artifacts::ArtifactView;
use futures_util::stream;

use super::{
    ArtifactError, ArtifactService, MAX_ARTIFACT_BYTES, NewFile, OUTPUT, stored_view,
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
        let content = self.blobs.stage(chunks, MAX_ARTIFACT_BYTES).await?;
        let (limits, sha256) = (self.limits, content.sha256.clone());
        let (caller, task, now) = (caller.clone(), task.to_owned(), self.clock.now());
        let stored_path = path.to_owned();
        let stored = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let scope = tasks::scope_of(&tasks::find(tx, &caller, &task).await?);
                    let artifact = Artifact {
                        id: ArtifactId::generate(),
                        task: scope.task,
                        job: None,
                        kind: OUTPUT.to_owned(),
                        path: stored_path,
                        size_bytes: content.size_bytes,
                        sha256: content.sha256.clone(),
                        created_at: now,
                    };
                    let files = vec![NewFile { artifact, content }];
                    limits.insert_files::<ArtifactError>(tx, scope, files).await
                })
            })
            .await?;
        self.blobs.sync(&sha256).await?;
        stored_view(stored, path)
    }
}
