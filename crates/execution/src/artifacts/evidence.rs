//! The files that count as evidence about the result of a job, and their diffs.
//!
//! [`load_outputs`] selects these files for rules and analysts alike.

use std::time::Duration;

use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::text::truncate_bytes;
use cynode_store::{Job, JobOutput, Tx};
use cynode_wire::artifacts::{OutputDiff, OutputText, OutputView};
use futures_util::StreamExt as _;
use similar::TextDiff;

use super::{ATTACHMENT, ArtifactError, ArtifactService};
use crate::tasks;
use crate::{workflow::EvidenceScope, workflow::load_outputs, workflow::load_planned_step};
use cynode_blobs::{BlobError, ExpectedBlob};
use cynode_resources::Caller;

/// How much of each file is compared.
const MAX_COMPARED_BYTES: usize = 256 * 1024;
/// Time limit of a comparison; the rest then counts as changed.
const COMPARE_WITHIN: Duration = Duration::from_secs(2);
/// Context lines around a change.
const CONTEXT_LINES: usize = 3;

impl ArtifactService {
    /// Lists the files that count as evidence about the result of a job, by path.
    pub async fn list_evidence(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
        job: JobId,
    ) -> Result<Vec<OutputView>, ArtifactError> {
        let (caller, task) = (caller.clone(), task.to_owned());
        let files = self
            .store
            .read(move |tx| Box::pin(async move { load_files(tx, &caller, &task, job).await }))
            .await?;
        Ok(files.files.into_iter().map(output_view).collect())
    }

    /// Returns the text of an evidence file, at most its first `max_bytes`.
    pub async fn evidence_text(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
        job: JobId,
        path: &str,
        max_bytes: usize,
    ) -> Result<OutputText, ArtifactError> {
        let (caller, task) = (caller.clone(), task.to_owned());
        let files = self
            .store
            .read(move |tx| Box::pin(async move { load_files(tx, &caller, &task, job).await }))
            .await?;
        let file = files.find(path)?;
        let bytes = self.read_beginning(blob_ref(&file), max_bytes).await?;
        let is_cut = i64::try_from(bytes.len()).unwrap_or(i64::MAX) < file.size_bytes;
        let text = decode_text(bytes);
        let (is_binary, output) = (text.is_none(), output_view(file));
        Ok(OutputText { output, text: text.unwrap_or_default(), is_binary, is_cut })
    }

    /// Returns the change of an evidence file as a unified diff of at most `max_bytes`: against the newest file that
    /// an earlier job of the task produced at the path, else against the attachment with that name.
    pub async fn evidence_diff(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
        job: JobId,
        path: &str,
        max_bytes: usize,
    ) -> Result<OutputDiff, ArtifactError> {
        let (caller, task, wanted_path) = (caller.clone(), task.to_owned(), path.to_owned());
        let (files, before) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let files = load_files(tx, &caller, &task, job).await?;
                    let made_by = files.find(&wanted_path)?.job;
                    let before = load_previous(tx, files.task, made_by, &wanted_path).await?;
                    Ok::<_, ArtifactError>((files, before))
                })
            })
            .await?;
        let file = files.find(path)?;
        let after = decode_text(self.read_beginning(blob_ref(&file), MAX_COMPARED_BYTES).await?);
        let (against, old) = match before {
            Some(PreviousFile { description: named, stored }) => {
                (Some(named), decode_text(self.read_beginning(stored, MAX_COMPARED_BYTES).await?))
            }
            None => (None, Some(String::new())),
        };
        let (is_binary, output) = (after.is_none() || old.is_none(), output_view(file));
        let (old, new) = (old.unwrap_or_default(), after.unwrap_or_default());
        let diff = if is_binary { String::new() } else { unified_diff(old, new).await? };
        let shown = truncate_bytes(&diff, max_bytes).to_owned();
        let is_cut = shown.len() < diff.len();
        Ok(OutputDiff { output, against, diff: shown, is_binary, is_cut })
    }
}

impl ArtifactService {
    /// Reads at most the first `max` bytes of a file.
    pub(super) async fn read_beginning(
        &self,
        stored: ExpectedBlob,
        max: usize,
    ) -> Result<Vec<u8>, ArtifactError> {
        let (mut content, mut bytes) = (self.open_blob(stored).await?, vec![]);
        while bytes.len() < max
            && let Some(chunk) = content.next().await
        {
            bytes.extend(chunk.map_err(BlobError::Io)?);
        }
        bytes.truncate(max);
        Ok(bytes)
    }
}

/// The evidence files of a job with their task.
struct EvidenceFiles {
    task: TaskId,
    files: Vec<JobOutput>,
}

impl EvidenceFiles {
    fn find(&self, path: &str) -> Result<JobOutput, ArtifactError> {
        let found = self.files.iter().find(|file| file.path == path);
        found.cloned().ok_or_else(|| ArtifactError::NotFound(path.to_owned()))
    }
}

/// The previous version of a file.
struct PreviousFile {
    /// Description for people.
    description: String,
    stored: ExpectedBlob,
}

async fn load_files(
    tx: &mut Tx,
    caller: &Caller,
    task: &NameOrId<TaskId>,
    job: JobId,
) -> Result<EvidenceFiles, ArtifactError> {
    let task = tasks::find(tx, caller, task).await?.spec.id;
    let job: Option<Job> = tx.job_get(job).await?.filter(|job| job.spec.task == task);
    let job = job.ok_or_else(|| ArtifactError::NotFound("of that job".to_owned()))?;
    let planned = load_planned_step(tx, task, job.spec.step_index).await?;
    let is_last = planned.is_none_or(|planned| planned.is_last);
    let mut files: Vec<JobOutput> = vec![];
    // The attempt's own files come first: they hide files of earlier steps at the same path.
    for file in load_outputs(tx, &job, EvidenceScope::for_step(is_last)).await? {
        if !files.iter().any(|known| known.path == file.path) {
            files.push(file);
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(EvidenceFiles { task, files })
}

async fn load_previous(
    tx: &mut Tx,
    task: TaskId,
    job: JobId,
    path: &str,
) -> Result<Option<PreviousFile>, ArtifactError> {
    if let Some(older) = tx.output_previous(task, job, path).await? {
        let named = format!("the output of job {}", older.job);
        return Ok(Some(PreviousFile { description: named, stored: blob_ref(&older) }));
    }
    let attachment = tx.artifact_get(task, ATTACHMENT, path).await?;
    Ok(attachment.map(|file| {
        let named = "the attachment of that name".to_owned();
        let stored = ExpectedBlob { sha256: file.sha256, size_bytes: file.size_bytes };
        PreviousFile { description: named, stored }
    }))
}

fn blob_ref(output: &JobOutput) -> ExpectedBlob {
    ExpectedBlob { sha256: output.sha256.clone(), size_bytes: output.size_bytes }
}

/// Decodes text; `None` for binary content. A character that the limit cut in two is dropped.
fn decode_text(bytes: Vec<u8>) -> Option<String> {
    if bytes.contains(&0) {
        return None;
    }
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) if error.utf8_error().error_len().is_none() => {
            let end = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(end);
            String::from_utf8(bytes).ok()
        }
        Err(_) => None,
    }
}

/// Computes a unified diff. User texts may be slow to compare: they must not block the async runtime.
async fn unified_diff(old: String, new: String) -> Result<String, ArtifactError> {
    let compared = tokio::task::spawn_blocking(move || {
        let diff = TextDiff::configure().timeout(COMPARE_WITHIN).diff_lines(&old, &new);
        diff.unified_diff().context_radius(CONTEXT_LINES).header("before", "after").to_string()
    });
    compared.await.map_err(|error| BlobError::Io(std::io::Error::other(error)).into())
}

fn output_view(output: JobOutput) -> OutputView {
    OutputView {
        job_id: output.job,
        step_index: output.step_index,
        path: output.path,
        size_bytes: output.size_bytes,
        sha256: output.sha256,
        created_at: output.created_at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_text_unless_they_hold_a_nul_or_are_no_utf_8() {
        assert_eq!(decode_text("tä".into()).as_deref(), Some("tä"));
        assert_eq!(decode_text("tä".as_bytes()[..2].to_vec()).as_deref(), Some("t"), "cut in two");
        assert_eq!(decode_text(b"a\0b".to_vec()), None);
        assert_eq!(decode_text(vec![0xff, b'a']), None);
    }

    #[tokio::test]
    async fn a_diff_shows_the_lines_that_changed() {
        let diff = unified_diff("one\ntwo\n".to_owned(), "one\nthree\n".to_owned()).await.unwrap();

        assert!(diff.contains("-two\n+three\n"), "{diff}");
        assert_eq!(unified_diff("same".to_owned(), "same".to_owned()).await.unwrap(), "");
    }
}
