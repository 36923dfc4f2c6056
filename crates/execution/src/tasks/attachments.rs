//! Attachments of a new task: staged before its transaction, and added at its end.

use std::convert::Infallible;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use cynode_domain::ids::{ArtifactId, TaskId};
use cynode_store::{Artifact, TaskScope, Tx};
use cynode_wire::tasks::Attachment;
use futures_util::stream;

use super::validation::MAX_ATTACHMENT_BYTES;
use super::{TaskError, TaskService};
use crate::artifacts::{ATTACHMENT, NewFile, StorageLimits};

impl TaskService {
    pub(super) async fn stage_attachments(
        &self,
        task: TaskId,
        attachments: &[Attachment],
    ) -> Result<Vec<NewFile>, TaskError> {
        let mut staged = vec![];
        for attachment in attachments {
            let content = STANDARD.decode(&attachment.content_base64).unwrap_or_default();
            let chunk = Ok::<_, Infallible>(Bytes::from(content));
            let max_bytes = MAX_ATTACHMENT_BYTES as u64;
            let content = self.blobs.stage(stream::iter([chunk]), max_bytes).await?;
            let artifact = Artifact {
                id: ArtifactId::generate(),
                task,
                job: None,
                kind: ATTACHMENT.to_owned(),
                path: attachment.name.clone(),
                size_bytes: content.size_bytes,
                sha256: content.sha256.clone(),
                created_at: self.clock.now(),
            };
            staged.push(NewFile { artifact, content });
        }
        Ok(staged)
    }

    /// Makes the content of attachments durable under its final name.
    pub(super) async fn sync_attachments(&self, hashes: Vec<String>) -> Result<(), TaskError> {
        for sha256 in hashes {
            self.blobs.sync(&sha256).await?;
        }
        Ok(())
    }
}

/// The attachments of an inserted task; none if it existed.
pub(super) struct TaskAttachments {
    pub(super) scope: Option<TaskScope>,
    pub(super) files: Vec<NewFile>,
    pub(super) limits: StorageLimits,
}

impl TaskAttachments {
    pub(super) async fn insert(self, tx: &mut Tx) -> Result<(), TaskError> {
        if let Some(scope) = self.scope {
            self.limits.insert_files::<TaskError>(tx, scope, self.files).await?;
        }
        Ok(())
    }
}
