//! Storing a file that somebody sends along with a call, outside of any job.

use std::convert::Infallible;

use bytes::Bytes;
use cynode_domain::ids::ArtifactId;
use cynode_store::{Artifact, ArtifactStore};
use cynode_wire::artifacts::ArtifactView;
use futures_util::stream;

use super::{ArtifactError, Artifacts, MAX_ARTIFACT_BYTES, OUTPUT, check_path, view};
use crate::{Caller, tasks};

impl Artifacts {
    /// Stores a file of a task the caller may see. The newest content at a path stays.
    pub async fn store(
        &self,
        caller: &Caller,
        task: &str,
        path: &str,
        content: Bytes,
    ) -> Result<ArtifactView, ArtifactError> {
        check_path(path).map_err(ArtifactError::BadPath)?;
        let pieces = stream::iter([Ok::<_, Infallible>(content)]);
        let blob = self.blobs.put(pieces, MAX_ARTIFACT_BYTES).await?;
        let (caller, task, path, now) =
            (caller.clone(), task.to_owned(), path.to_owned(), self.clock.now());
        let stored = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let task = tasks::find(tx, &caller, &task).await?.asked.id;
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
        Ok(view(stored))
    }
}
