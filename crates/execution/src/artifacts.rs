//! Files of a task: outputs and collected changes that worker nodes upload, and attachments of the request.

mod changes;
mod delete;
mod evidence;
mod limits;
mod store;
mod usage;

use bytes::Bytes;
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{ArtifactId, JobId, TaskId};
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::status::{JobStatus, ShownTaskStatus};
use cynode_runtime::clock::SharedClock;
use cynode_store::{Artifact, Job, Store};
use cynode_wire::artifacts::{ArtifactKind, ArtifactView, MAX_PATH_BYTES};
use futures_util::Stream;
use tracing::warn;

pub use self::changes::DiffScope;
pub(crate) use self::limits::NewFile;
pub use self::limits::{StorageLimitExceeded, StorageLimits};
use crate::{tasks, tasks::TaskError};
use cynode_blobs::{
    BLOBS_TABLE, BlobContent, BlobError, BlobStore, BlobVerdictCallback, ExpectedBlob,
};
use cynode_resources::{Caller, NodeCaller};

pub(crate) const OUTPUT: &str = ArtifactKind::Output.as_str();
pub const ATTACHMENT: &str = ArtifactKind::Attachment.as_str();

const MAX_ARTIFACT_BYTES: u64 = 256 * 1024 * 1024;

/// Why a file was not stored or read.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The path is not a plain relative path.
    #[error("{0}")]
    BadPath(String),
    /// The process does not hold the job, or the job has ended.
    #[error("this process of the node does not hold job {0}, or the job has ended")]
    JobNotHeld(JobId),
    #[error("the task has no file \"{0}\"")]
    NotFound(String),
    #[error("job {0} has no repository: no changes are collected after it")]
    JobWithoutRepository(JobId),
    #[error(
        "task \"{0}\" has no repository: create a task that works on one with `cynork task create --repo URL`"
    )]
    TaskWithoutRepository(String),
    #[error("{0}")]
    NoChanges(String),
    /// Findings of the changes forbid a push.
    #[error("the changes must not be pushed: {0}")]
    PushBlocked(String),
    /// Files of an open task cannot be deleted.
    #[error(
        "task \"{name}\" is {status}: its files can be deleted once it is closed; `cynork task cancel {name}` \
         closes it"
    )]
    TaskOpen { name: String, status: ShownTaskStatus },
    #[error("{}", .0.join("; "))]
    Invalid(Vec<String>),
    #[error(transparent)]
    StorageLimit(#[from] StorageLimitExceeded),
    #[error(transparent)]
    Task(#[from] TaskError),
    #[error(transparent)]
    Blob(#[from] BlobError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for ArtifactError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::BadPath(_) | Self::JobWithoutRepository(_) => {
                Classification::new(ErrorClass::Invalid, self)
            }
            Self::JobNotHeld(_) | Self::TaskOpen { .. } | Self::PushBlocked(_) => {
                Classification::new(ErrorClass::Conflict, self)
            }
            Self::Invalid(faults) => Classification::invalid(self, faults),
            Self::StorageLimit(error) => error.classify(),
            Self::NotFound(_) | Self::TaskWithoutRepository(_) | Self::NoChanges(_) => {
                Classification::new(ErrorClass::NotFound, self)
            }
            Self::Task(error) => error.classify(),
            Self::Blob(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// The artifact service. Cheap to clone.
#[derive(Clone)]
pub struct ArtifactService {
    store: Store,
    clock: SharedClock,
    blobs: BlobStore,
    limits: StorageLimits,
}

impl ArtifactService {
    /// Creates the service, without limits; contents are stored in `blobs`.
    pub fn new(store: Store, clock: SharedClock, blobs: BlobStore) -> Self {
        Self { store, clock, blobs, limits: StorageLimits::default() }
    }

    /// Sets the most bytes that files may take.
    #[must_use]
    pub fn with_storage_limits(self, limits: StorageLimits) -> Self {
        Self { limits, ..self }
    }

    /// Lists every file of a task.
    pub async fn list(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
    ) -> Result<Vec<ArtifactView>, ArtifactError> {
        let (caller, task) = (caller.clone(), task.to_owned());
        let artifacts = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let task = tasks::find_shared(tx, &caller, &task).await?;
                    Ok::<_, ArtifactError>(tx.artifact_list(task.spec.id).await?)
                })
            })
            .await?;
        Ok(artifacts.into_iter().map(artifact_view).collect())
    }

    /// Opens a file of a task. Without a kind: collected changes, whose paths begin with a job, else the output at the
    /// path, else the attachment with that name.
    pub async fn open(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
        kind: Option<ArtifactKind>,
        path: &str,
    ) -> Result<(ArtifactView, BlobContent), ArtifactError> {
        let (caller, task, wanted_path) = (caller.clone(), task.to_owned(), path.to_owned());
        let kinds = match kind {
            Some(kind) => vec![kind],
            None => vec![ArtifactKind::Changes, ArtifactKind::Output, ArtifactKind::Attachment],
        };
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let task = tasks::find_shared(tx, &caller, &task).await?.spec.id;
                    for kind in kinds {
                        let file = tx.artifact_get(task, kind.as_str(), &wanted_path).await?;
                        if file.is_some() {
                            return Ok::<_, ArtifactError>(file);
                        }
                    }
                    Ok(None)
                })
            })
            .await?;
        let found = found.ok_or_else(|| ArtifactError::NotFound(path.to_owned()))?;
        let content = self.open_content(&found).await?;
        Ok((artifact_view(found), content))
    }

    /// Stores an output of a job. The newest content at a path wins.
    pub async fn put<E>(
        &self,
        node: &NodeCaller,
        job: JobId,
        path: &str,
        content: impl Stream<Item = Result<Bytes, E>>,
    ) -> Result<ArtifactView, ArtifactError> {
        validate_artifact_path(path).map_err(ArtifactError::BadPath)?;
        let task = self.load_open_job(node, job).await?.spec.task;
        let content = self.blobs.stage(content, MAX_ARTIFACT_BYTES).await?;
        let artifact = Artifact {
            id: ArtifactId::generate(),
            task,
            job: Some(job),
            kind: OUTPUT.to_owned(),
            path: path.to_owned(),
            size_bytes: content.size_bytes,
            sha256: content.sha256.clone(),
            created_at: self.clock.now(),
        };
        self.insert_for_job(node, job, NewFile { artifact, content }).await
    }

    /// Adds a file to the task of a job, if the node still holds the job.
    async fn insert_for_job(
        &self,
        node: &NodeCaller,
        job: JobId,
        file: NewFile,
    ) -> Result<ArtifactView, ArtifactError> {
        let (node, limits, task) = (node.clone(), self.limits, file.artifact.task);
        let (sha256, path) = (file.artifact.sha256.clone(), file.artifact.path.clone());
        let stored = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    // The job may have ended during the upload.
                    require_open_job(tx.job_lock(job).await?, &node, job)?;
                    let scope = tx.task_scope(task).await?.ok_or(ArtifactError::JobNotHeld(job))?;
                    limits.insert_files::<ArtifactError>(tx, scope, vec![file]).await
                })
            })
            .await?;
        self.blobs.sync(&sha256).await?;
        stored_view(stored, &path)
    }

    /// Opens an attachment of the task of a job that the node holds.
    pub async fn open_attachment(
        &self,
        node: &NodeCaller,
        job: JobId,
        name: &str,
    ) -> Result<(ArtifactView, BlobContent), ArtifactError> {
        let task = self.load_open_job(node, job).await?.spec.task;
        let wanted_path = name.to_owned();
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    Ok::<_, ArtifactError>(tx.artifact_get(task, ATTACHMENT, &wanted_path).await?)
                })
            })
            .await?;
        let found = found.ok_or_else(|| ArtifactError::NotFound(name.to_owned()))?;
        let content = self.open_content(&found).await?;
        Ok((artifact_view(found), content))
    }

    /// Opens the content of a file. A reader that finds damage quarantines the content; one that finds it intact
    /// releases it.
    async fn open_content(&self, artifact: &Artifact) -> Result<BlobContent, ArtifactError> {
        let Artifact { sha256, size_bytes, .. } = artifact;
        self.open_blob(ExpectedBlob { sha256: sha256.clone(), size_bytes: *size_bytes }).await
    }

    async fn open_blob(&self, stored: ExpectedBlob) -> Result<BlobContent, ArtifactError> {
        let (store, key) = (self.store.clone(), stored.sha256.clone());
        let verdict: BlobVerdictCallback =
            Box::new(move |fault| Box::pin(update_quarantine(store, key, fault)));
        Ok(self.blobs.open(stored, verdict).await?)
    }

    async fn load_open_job(&self, node: &NodeCaller, job: JobId) -> Result<Job, ArtifactError> {
        let found = self
            .store
            .read(move |tx| Box::pin(async move { Ok::<_, ArtifactError>(tx.job_get(job).await?) }))
            .await?;
        require_open_job(found, node, job)
    }
}

/// Adds damaged content to the quarantine, or removes intact content from it.
async fn update_quarantine(store: Store, sha256: String, fault: Option<String>) {
    let read = sha256.clone();
    let known = store
        .read(move |tx| Box::pin(async move { tx.quarantine_contains(BLOBS_TABLE, &read).await }))
        .await;
    let noted = match (known, fault) {
        (Ok(false), Some(fault)) => {
            store
                .write(move |tx| {
                    Box::pin(async move { tx.quarantine_add(BLOBS_TABLE, &sha256, &fault).await })
                })
                .await
        }
        (Ok(true), None) => {
            store
                .write(move |tx| {
                    Box::pin(async move { tx.quarantine_remove(BLOBS_TABLE, &sha256).await })
                })
                .await
        }
        (known, _) => known,
    };
    if let Err(error) = noted {
        warn!(error = &error as &dyn std::error::Error, "damaged blob not recorded");
    }
}

/// Returns the job if this process of a node holds it and its result is unknown.
fn require_open_job(
    found: Option<Job>,
    node: &NodeCaller,
    id: JobId,
) -> Result<Job, ArtifactError> {
    found
        .filter(|job| {
            let is_unknown = matches!(job.status, JobStatus::Running | JobStatus::LeaseExpired);
            node.holds_job(job) && is_unknown
        })
        .ok_or(ArtifactError::JobNotHeld(id))
}

/// Rejects paths that are absolute, contain `..`, or contain control characters.
pub fn validate_artifact_path(path: &str) -> Result<(), String> {
    cynode_domain::workspace_script::check_relative_path(path, MAX_PATH_BYTES)
}

/// The view of the one file that was stored.
fn stored_view(stored: Vec<Artifact>, path: &str) -> Result<ArtifactView, ArtifactError> {
    let stored = stored.into_iter().next();
    stored.map(artifact_view).ok_or_else(|| ArtifactError::NotFound(path.to_owned()))
}

fn artifact_view(artifact: Artifact) -> ArtifactView {
    ArtifactView {
        id: artifact.id,
        task_id: artifact.task,
        job_id: artifact.job.or_else(|| changes::job_of_changes(&artifact)),
        kind: artifact.kind,
        path: artifact.path,
        size_bytes: artifact.size_bytes,
        sha256: artifact.sha256,
        created_at: artifact.created_at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_cannot_climb_out() {
        for path in
            ["", "/etc/passwd", "../x", "a/../b", "a//b", "a/", "./a", "a\\b", "a\nb", "a\0"]
        {
            assert!(validate_artifact_path(path).is_err(), "{path:?}");
        }
        for path in ["a", "a/b.txt", "ä ö", "..a", "a.."] {
            assert!(validate_artifact_path(path).is_ok(), "{path:?}");
        }
    }
}
