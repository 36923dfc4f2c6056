//! The changes that a worker node collects in the repository of a task after each job.
//!
//! They are files of their own kind, one set for each job, at `<job>/changes.json` and so on. The broker of the node
//! writes them: an output of a job at any path is another file, and no criterion about files counts them. Their rows have no
//! job, because the outputs of a job are its evidence; the path has it.
//!
//! `changes.json` is uploaded last: a set without it is incomplete and not shown.

use bytes::Bytes;
use cynode_domain::git::{ChangeSource, PushOrder};
use cynode_domain::ids::{ArtifactId, JobId, TaskId};
use cynode_domain::name_or_id::NameOrId;
use cynode_store::{Artifact, Tx};
use cynode_wire::artifacts::{ArtifactKind, ArtifactView};
use cynode_wire::git::{
    ALL_CHANGES_FILE, ALL_PATCH_FILE, BUNDLE_FILE, CHANGES_FILE, CollectedChanges, PATCH_FILE,
    TaskDiffView, changes_path,
};
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::Value;

use super::{ArtifactError, ArtifactService, MAX_ARTIFACT_BYTES, NewFile, artifact_view};
use crate::tasks;
use crate::workflow::job_creation::is_step_attempt;
use cynode_blobs::{BlobContent, BlobError, ExpectedBlob};
use cynode_resources::{Caller, NodeCaller};

const CHANGES: &str = ArtifactKind::Changes.as_str();
const FILES: [&str; 5] = [CHANGES_FILE, PATCH_FILE, BUNDLE_FILE, ALL_CHANGES_FILE, ALL_PATCH_FILE];
/// The largest `changes.json`: it is parsed in memory.
const MAX_CHANGES_BYTES: usize = 16 * 1024 * 1024;

/// Which changes of a task are returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffScope {
    /// Its own.
    Own,
    /// With those of the tasks that it builds on.
    All,
}

impl ArtifactService {
    /// Stores a file of the changes that the node collected after a job. The newest content wins.
    pub async fn put_changes<E>(
        &self,
        node: &NodeCaller,
        job: JobId,
        file: &str,
        content: impl Stream<Item = Result<Bytes, E>>,
    ) -> Result<ArtifactView, ArtifactError> {
        if !FILES.contains(&file) {
            let fault = format!("there is no file \"{}\" of changes", file.escape_debug());
            return Err(ArtifactError::BadPath(format!("{fault}: use {}", FILES.join(", "))));
        }
        let held = self.load_open_job(node, job).await?.spec;
        if held.payload["repository"].is_null() {
            return Err(ArtifactError::JobWithoutRepository(job));
        }
        let content = if file == CHANGES_FILE || file == ALL_CHANGES_FILE {
            let text = read_changes(content, &held.payload["repository"]).await?;
            self.blobs.stage(stream::iter([Ok::<_, E>(text)]), MAX_ARTIFACT_BYTES).await?
        } else {
            self.blobs.stage(content, MAX_ARTIFACT_BYTES).await?
        };
        let artifact = Artifact {
            id: ArtifactId::generate(),
            task: held.task,
            job: None,
            kind: CHANGES.to_owned(),
            path: changes_path(job, file),
            size_bytes: content.size_bytes,
            sha256: content.sha256.clone(),
            created_at: self.clock.now(),
        };
        self.insert_for_job(node, job, NewFile { artifact, content }).await
    }

    /// Returns the changes of the newest job of a task that has some, with at most `max_patch_bytes` of the patch.
    pub async fn diff(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
        scope: DiffScope,
        max_patch_bytes: usize,
    ) -> Result<TaskDiffView, ArtifactError> {
        let (caller, task) = (caller.clone(), task.to_owned());
        let files = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let task = tasks::find_shared(tx, &caller, &task).await?.spec;
                    if task.options.repository.is_none() {
                        return Err(ArtifactError::TaskWithoutRepository(task.name));
                    }
                    let files = match newest_job(tx, task.id).await? {
                        Some(job) => load_files(tx, task.id, job, scope).await?,
                        None => None,
                    };
                    files.ok_or_else(|| no_changes(&task.name))
                })
            })
            .await?;
        self.read_diff(files, max_patch_bytes).await
    }

    /// Opens the commits that a job of the node pushes, or those of `source`, a task that the job builds on. The job names
    /// them: a node that holds it gets no others.
    pub async fn open_bundle(
        &self,
        node: &NodeCaller,
        job: JobId,
        source: Option<TaskId>,
    ) -> Result<(ArtifactView, BlobContent), ArtifactError> {
        let held = self.load_open_job(node, job).await?.spec;
        let missing = || ArtifactError::NotFound(BUNDLE_FILE.to_owned());
        let (task, job) = find_bundle(&held.payload, source).ok_or_else(missing)?;
        let path = changes_path(job, BUNDLE_FILE);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    Ok::<_, ArtifactError>(tx.artifact_get(task, CHANGES, &path).await?)
                })
            })
            .await?;
        let found = found.ok_or_else(missing)?;
        let content = self.open_content(&found).await?;
        Ok((artifact_view(found), content))
    }

    /// Returns the changes that were collected after a job.
    pub async fn changes_of_job(
        &self,
        task: TaskId,
        job: JobId,
        max_patch_bytes: usize,
    ) -> Result<Option<TaskDiffView>, ArtifactError> {
        let files = self.store.read(move |tx| {
            Box::pin(async move { load_files(tx, task, job, DiffScope::Own).await })
        });
        match files.await? {
            Some(files) => Ok(Some(self.read_diff(files, max_patch_bytes).await?)),
            None => Ok(None),
        }
    }

    async fn read_diff(
        &self,
        files: ChangesFiles,
        max_patch_bytes: usize,
    ) -> Result<TaskDiffView, ArtifactError> {
        let ChangesFiles { job_id, changes, patch } = files;
        let changes = self.read_beginning(blob_ref(&changes), MAX_CHANGES_BYTES).await?;
        let changes: CollectedChanges = serde_json::from_slice(&changes)
            .map_err(|error| BlobError::Io(std::io::Error::other(error)))?;
        let (patch, is_truncated) = match patch {
            Some(patch) => {
                let bytes = self.read_beginning(blob_ref(&patch), max_patch_bytes).await?;
                let is_cut = i64::try_from(bytes.len()).unwrap_or(i64::MAX) < patch.size_bytes;
                decode_patch(&bytes, is_cut, max_patch_bytes)
            }
            None => (String::new(), false),
        };
        Ok(TaskDiffView { job_id, changes, patch, is_truncated })
    }
}

/// The files of a complete set of changes.
struct ChangesFiles {
    job_id: JobId,
    changes: Artifact,
    patch: Option<Artifact>,
}

async fn load_files(
    tx: &mut Tx,
    task: TaskId,
    job_id: JobId,
    scope: DiffScope,
) -> Result<Option<ChangesFiles>, ArtifactError> {
    let own = (CHANGES_FILE, PATCH_FILE);
    // A task that builds on no other has only its own.
    let wanted = match scope {
        DiffScope::Own => vec![own],
        DiffScope::All => vec![(ALL_CHANGES_FILE, ALL_PATCH_FILE), own],
    };
    for (changes, patch) in wanted {
        let changes = tx.artifact_get(task, CHANGES, &changes_path(job_id, changes)).await?;
        if let Some(changes) = changes {
            let patch = tx.artifact_get(task, CHANGES, &changes_path(job_id, patch)).await?;
            return Ok(Some(ChangesFiles { job_id, changes, patch }));
        }
    }
    Ok(None)
}

/// The task and the job of the bundle that a job needs; `None` if the job does not name it.
fn find_bundle(payload: &Value, source: Option<TaskId>) -> Option<(TaskId, JobId)> {
    let Some(source) = source else {
        let order: PushOrder = serde_json::from_value(payload["push"].clone()).ok()?;
        return Some((order.source_task, order.source_job));
    };
    let sources: Vec<ChangeSource> =
        serde_json::from_value(payload["repository"]["builds_on"].clone()).ok()?;
    let found = sources.into_iter().find(|known| known.task == source)?;
    Some((found.task, found.job))
}

/// The newest attempt at a step with a complete set of changes. Ids of jobs are in order of their creation. Checks and commands
/// in the workspace may change files too, while a step runs or after it was verified.
async fn newest_job(tx: &mut Tx, task: TaskId) -> Result<Option<JobId>, ArtifactError> {
    let files = tx.artifact_list(task).await?.into_iter();
    let complete = files.filter(|file| file.path.ends_with(CHANGES_FILE));
    let mut jobs: Vec<JobId> = complete.filter_map(|file| job_of_changes(&file)).collect();
    jobs.sort_unstable();
    for job in jobs.into_iter().rev() {
        if tx.job_get(job).await?.is_some_and(|job| is_step_attempt(&job.spec)) {
            return Ok(Some(job));
        }
    }
    Ok(None)
}

/// The job after which a file of changes was collected; `None` for other files.
pub(super) fn job_of_changes(file: &Artifact) -> Option<JobId> {
    let (job, _) = file.path.split_once('/').filter(|_| file.kind == CHANGES)?;
    job.parse().ok()
}

fn no_changes(task: &str) -> ArtifactError {
    ArtifactError::NoChanges(format!(
        "task \"{task}\" has no changes yet: the worker node collects them after each job. See its jobs with \
         `cynork task result {task}`"
    ))
}

fn blob_ref(file: &Artifact) -> ExpectedBlob {
    ExpectedBlob { sha256: file.sha256.clone(), size_bytes: file.size_bytes }
}

/// Reads `changes.json`, and rejects what its readers could not parse and what is not about the job's repository.
async fn read_changes<E>(
    content: impl Stream<Item = Result<Bytes, E>>,
    repository: &Value,
) -> Result<Bytes, ArtifactError> {
    let (mut content, mut text) = (std::pin::pin!(content), vec![]);
    while let Some(chunk) = content.next().await {
        text.extend(chunk.map_err(|_| BlobError::UploadInterrupted)?);
        if text.len() > MAX_CHANGES_BYTES {
            return Err(BlobError::TooLarge { max_bytes: MAX_CHANGES_BYTES as u64 }.into());
        }
    }
    match serde_json::from_slice::<CollectedChanges>(&text) {
        Ok(changes) if !is_about(&changes, repository) => {
            let fault = format!("{CHANGES_FILE} is about another repository or branch");
            Err(ArtifactError::Invalid(vec![fault]))
        }
        Ok(_) => Ok(text.into()),
        Err(error) => {
            Err(ArtifactError::Invalid(vec![format!("{CHANGES_FILE} cannot be read: {error}")]))
        }
    }
}

fn is_about(changes: &CollectedChanges, repository: &Value) -> bool {
    repository["url"] == changes.url.as_str() && repository["branch"] == changes.branch.as_str()
}

/// Decodes at most `max_bytes` of a patch, and returns whether it is cut. No character is cut in two.
fn decode_patch(bytes: &[u8], is_cut: bool, max_bytes: usize) -> (String, bool) {
    let mut text = String::from_utf8_lossy(bytes).into_owned();
    if is_cut {
        // The last character may be incomplete.
        text.truncate(text.trim_end_matches('\u{fffd}').len());
    }
    // Bytes that are not UTF-8 take more bytes than before.
    let end = text.floor_char_boundary(max_bytes);
    let is_cut = is_cut || end < text.len();
    text.truncate(end);
    (text, is_cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_cut_between_characters() {
        assert_eq!(decode_patch("+ä".as_bytes(), false, 3), ("+ä".to_owned(), false));
        assert_eq!(decode_patch(&"+ä".as_bytes()[..2], true, 2), ("+".to_owned(), true));
        assert_eq!(decode_patch(&[b'+', 0xff], false, 3), ("+".to_owned(), true));
        assert_eq!(decode_patch(&[b'+', 0xff], false, 4), ("+\u{fffd}".to_owned(), false));
    }
}
