//! Files of a task: outputs that nodes upload, attachments that people send along.

mod evidence;
mod store;

use bytes::Bytes;
use cynode_domain::ids::{ArtifactId, JobId};
use cynode_domain::status::JobStatus;
use cynode_runtime::clock::SharedClock;
use cynode_store::{Artifact, ArtifactStore, Job, JobStore, QuarantineStore, Store};
use cynode_wire::artifacts::ArtifactView;
use futures_util::Stream;
use tracing::warn;

use crate::blobs::{BlobContent, Stored, Verdict};
use crate::tasks::{self, TaskError};
use crate::{BlobError, Blobs, Caller, NodeCaller};

/// The kind of files that jobs leave behind.
pub(crate) const OUTPUT: &str = "output";
/// The kind of files that came with the task.
pub(crate) const ATTACHMENT: &str = "attachment";

/// What damaged content is recorded under.
const BLOBS: &str = "blobs";
const MAX_ARTIFACT_BYTES: u64 = 256 * 1024 * 1024;
const MAX_PATH_BYTES: usize = 1024;

/// Why a file was not stored or found.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The path could lead out of the task's files.
    #[error("{0}")]
    BadPath(String),
    /// The process of the node holds no such open job.
    #[error("this process of the node holds no open job {0}")]
    NotYourJob(JobId),
    /// There is no such file.
    #[error("the task has no file \"{0}\"")]
    NotFound(String),
    /// The task was not found.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The content could not be stored or read.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// Files of tasks. Cheap to clone.
#[derive(Clone)]
pub struct Artifacts {
    store: Store,
    clock: SharedClock,
    blobs: Blobs,
}

impl Artifacts {
    /// Files named in `store` and kept in `blobs`.
    pub fn new(store: Store, clock: SharedClock, blobs: Blobs) -> Self {
        Self { store, clock, blobs }
    }

    /// Every file of a task.
    pub async fn list(
        &self,
        caller: &Caller,
        task: &str,
    ) -> Result<Vec<ArtifactView>, ArtifactError> {
        let (caller, task) = (caller.clone(), task.to_owned());
        let artifacts = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let task = tasks::find(tx, &caller, &task).await?;
                    Ok::<_, ArtifactError>(tx.artifact_list(task.asked.id).await?)
                })
            })
            .await?;
        Ok(artifacts.into_iter().map(view).collect())
    }

    /// Opens a task's file: an output, else the attachment of that name.
    pub async fn open(
        &self,
        caller: &Caller,
        task: &str,
        path: &str,
    ) -> Result<(ArtifactView, BlobContent), ArtifactError> {
        let (caller, task, wanted) = (caller.clone(), task.to_owned(), path.to_owned());
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let task = tasks::find(tx, &caller, &task).await?.asked.id;
                    let output = tx.artifact_get(task, OUTPUT, &wanted).await?;
                    match output {
                        Some(output) => Ok::<_, ArtifactError>(Some(output)),
                        None => Ok(tx.artifact_get(task, ATTACHMENT, &wanted).await?),
                    }
                })
            })
            .await?;
        let found = found.ok_or_else(|| ArtifactError::NotFound(path.to_owned()))?;
        let content = self.content(&found).await?;
        Ok((view(found), content))
    }

    /// Stores a file that a node's job left behind. The newest content at a path stays.
    pub async fn put<E>(
        &self,
        node: &NodeCaller,
        job: JobId,
        path: &str,
        content: impl Stream<Item = Result<Bytes, E>>,
    ) -> Result<ArtifactView, ArtifactError> {
        check_path(path).map_err(ArtifactError::BadPath)?;
        let task = self.open_job(node, job).await?.asked.task;
        let blob = self.blobs.put(content, MAX_ARTIFACT_BYTES).await?;
        let node = node.clone();
        let artifact = Artifact {
            id: ArtifactId::generate(),
            task,
            job: Some(job),
            kind: OUTPUT.to_owned(),
            path: path.to_owned(),
            size_bytes: blob.size_bytes,
            sha256: blob.sha256,
            created_at: self.clock.now(),
        };
        let stored = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    // The upload took its time: the job may be over by now.
                    is_open(tx.job_lock(job).await?, &node, job)?;
                    Ok::<_, ArtifactError>(tx.artifact_put(&artifact).await?)
                })
            })
            .await?;
        Ok(view(stored))
    }

    /// Opens an attachment of the task that a node's job belongs to.
    pub async fn open_attachment(
        &self,
        node: &NodeCaller,
        job: JobId,
        name: &str,
    ) -> Result<(ArtifactView, BlobContent), ArtifactError> {
        let task = self.open_job(node, job).await?.asked.task;
        let wanted = name.to_owned();
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    Ok::<_, ArtifactError>(tx.artifact_get(task, ATTACHMENT, &wanted).await?)
                })
            })
            .await?;
        let found = found.ok_or_else(|| ArtifactError::NotFound(name.to_owned()))?;
        let content = self.content(&found).await?;
        Ok((view(found), content))
    }

    /// The content of a file. Damage is put on record, and taken off again by a reader who finds the
    /// content whole.
    async fn content(&self, artifact: &Artifact) -> Result<BlobContent, ArtifactError> {
        let Artifact { sha256, size_bytes, .. } = artifact;
        self.stored(Stored { sha256: sha256.clone(), size_bytes: *size_bytes }).await
    }

    async fn stored(&self, stored: Stored) -> Result<BlobContent, ArtifactError> {
        let (store, key) = (self.store.clone(), stored.sha256.clone());
        let verdict: Verdict = Box::new(move |fault| Box::pin(note(store, key, fault)));
        Ok(self.blobs.open(stored, verdict).await?)
    }

    async fn open_job(&self, node: &NodeCaller, job: JobId) -> Result<Job, ArtifactError> {
        let found = self
            .store
            .read(move |tx| Box::pin(async move { Ok::<_, ArtifactError>(tx.job_get(job).await?) }))
            .await?;
        is_open(found, node, job)
    }
}

/// Keeps the record of damaged content up to date.
async fn note(store: Store, sha256: String, fault: Option<String>) {
    let read = sha256.clone();
    let known =
        store.read(move |tx| Box::pin(async move { tx.quarantine_has(BLOBS, &read).await })).await;
    let noted = match (known, fault) {
        (Ok(false), Some(fault)) => {
            store
                .write(move |tx| {
                    Box::pin(async move { tx.quarantine_add(BLOBS, &sha256, &fault).await })
                })
                .await
        }
        (Ok(true), None) => {
            store
                .write(move |tx| {
                    Box::pin(async move { tx.quarantine_remove(BLOBS, &sha256).await })
                })
                .await
        }
        (known, _) => known,
    };
    if let Err(error) = noted {
        warn!(error = &error as &dyn std::error::Error, "damaged blob not recorded");
    }
}

/// The job, if this process of a node holds it and what came of it is not known.
fn is_open(found: Option<Job>, node: &NodeCaller, id: JobId) -> Result<Job, ArtifactError> {
    found
        .filter(|job| {
            let is_unknown = matches!(job.status, JobStatus::Running | JobStatus::LeaseExpired);
            node.holds(job) && is_unknown
        })
        .ok_or(ArtifactError::NotYourJob(id))
}

/// Refuses paths that are absolute, climb, or hold what no file name should.
pub(crate) fn check_path(path: &str) -> Result<(), String> {
    let is_plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    let is_fine = !path.is_empty()
        && path.len() <= MAX_PATH_BYTES
        && !path.contains(['\\', '\0'])
        && !path.chars().any(char::is_control)
        && path.split('/').all(is_plain);
    if is_fine {
        Ok(())
    } else {
        Err(format!("\"{}\" is no relative path of a file", path.escape_debug()))
    }
}

fn view(artifact: Artifact) -> ArtifactView {
    ArtifactView {
        id: artifact.id,
        task_id: artifact.task,
        job_id: artifact.job,
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
            assert!(check_path(path).is_err(), "{path:?}");
        }
        for path in ["a", "a/b.txt", "ä ö", "..a", "a.."] {
            assert!(check_path(path).is_ok(), "{path:?}");
        }
    }
}
