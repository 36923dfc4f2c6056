//! Limits on the bytes that the files of a user and of a project take.
//!
//! Every file counts with its size, at least 4 KiB, for the user who created its task and for the project of the task,
//! also if another file has the same content. The database keeps the sums; a check reads them after the rows were written,
//! when the transaction holds their locks, so that concurrent uploads cannot exceed a limit together.

use cynode_blobs::{BlobError, StagedBlob};
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_runtime::failpoint;
use cynode_store::{Artifact, TaskScope, Tx, counted_bytes};

/// The most bytes that files may take; `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StorageLimits {
    pub user_bytes: Option<i64>,
    pub project_bytes: Option<i64>,
}

/// The files of a user or project would take more bytes than allowed.
#[derive(Debug, thiserror::Error)]
#[error(
    "the files of {holder} take {used_bytes} bytes; {added_bytes} more would exceed the limit of {limit_bytes} bytes. \
     Delete files of closed tasks with `cynork task artifacts delete TASK` (`cynork task artifacts usage` shows what \
     is used), or ask an administrator to raise `{option}`"
)]
pub struct StorageLimitExceeded {
    /// The user or project, for people.
    pub holder: String,
    /// Without the files of this request.
    pub used_bytes: i64,
    pub added_bytes: i64,
    pub limit_bytes: i64,
    /// The name of the option that sets the limit.
    pub option: &'static str,
}

impl Classified for StorageLimitExceeded {
    fn classify(&self) -> Classification<'_> {
        Classification::new(ErrorClass::StorageLimit, self)
    }
}

/// A file to add to a task.
pub(crate) struct NewFile {
    pub(crate) artifact: Artifact,
    pub(crate) content: StagedBlob,
}

impl StorageLimits {
    /// Adds files to a task and places their content. Fails if they do not fit the limits; then nothing is placed.
    pub(crate) async fn insert_files<E>(
        self,
        tx: &mut Tx,
        scope: TaskScope,
        files: Vec<NewFile>,
    ) -> Result<Vec<Artifact>, E>
    where
        E: From<StorageLimitExceeded> + From<BlobError> + From<cynode_store::Error>,
    {
        let (mut stored, mut added_bytes) = (vec![], 0);
        for file in &files {
            stored.push(tx.artifact_put(&file.artifact).await?);
            added_bytes += counted_bytes(file.artifact.size_bytes);
        }
        if files.is_empty() {
            return Ok(stored);
        }
        self.check::<E>(tx, scope, added_bytes).await?;
        // Last: the content of a transaction that fails would only wait for its collection.
        for file in &files {
            tx.blob_group_share(file.content.group()).await?;
            file.content.place()?;
        }
        failpoint::hit("files_placed", "upload");
        Ok(stored)
    }

    /// Fails if the files of the creator or of the project take more than allowed, with `added_bytes` that this
    /// transaction added.
    pub async fn check<E>(self, tx: &mut Tx, scope: TaskScope, added_bytes: i64) -> Result<(), E>
    where
        E: From<StorageLimitExceeded> + From<cynode_store::Error>,
    {
        if self == Self::default() {
            return Ok(());
        }
        let (by_user, by_project) = tx.storage_held(scope.created_by, Some(scope.project)).await?;
        let exceeds = |held: i64, limit: Option<i64>| limit.filter(|limit| held > *limit);
        if let Some(limit_bytes) = exceeds(by_user, self.user_bytes) {
            let handle = tx.user_handles(&[scope.created_by]).await?.into_values().next();
            let exceeded = StorageLimitExceeded {
                holder: format!("user \"{}\"", handle.unwrap_or_default()),
                used_bytes: by_user - added_bytes,
                added_bytes,
                limit_bytes,
                option: "max_storage_mib_per_user",
            };
            return Err(exceeded.into());
        }
        if let Some(limit_bytes) = exceeds(by_project, self.project_bytes) {
            let slug = tx.project_get(scope.project).await?.map(|project| project.slug);
            let exceeded = StorageLimitExceeded {
                holder: format!("project \"{}\"", slug.unwrap_or_default()),
                used_bytes: by_project - added_bytes,
                added_bytes,
                limit_bytes,
                option: "max_storage_mib_per_project",
            };
            return Err(exceeded.into());
        }
        Ok(())
    }
}
