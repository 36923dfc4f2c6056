//! The files that count as evidence about one job's result, and what changed in them.
//!
//! Which files those are is decided in one place for rules and analysts: see [`outputs`].

use std::time::Duration;

use cynode_domain::ids::{JobId, TaskId};
use cynode_store::{ArtifactStore, Job, JobOutput, JobStore, Tx};
use cynode_wire::artifacts::{OutputDiff, OutputText, OutputView};
use futures_util::StreamExt as _;
use similar::TextDiff;

use super::{ATTACHMENT, ArtifactError, Artifacts};
use crate::blobs::Stored;
use crate::tasks;
use crate::workflow::{RunFiles, outputs, planned_step};
use crate::{BlobError, Caller};

/// How much of each of two files is compared.
const MAX_COMPARED_BYTES: usize = 256 * 1024;
/// How long two files are compared before the rest counts as changed.
const COMPARE_WITHIN: Duration = Duration::from_secs(2);
/// How many equal lines stand around a change.
const CONTEXT_LINES: usize = 3;

impl Artifacts {
    /// The files that count as evidence about the result of a job, by path.
    pub async fn list_evidence(
        &self,
        caller: &Caller,
        task: &str,
        job: JobId,
    ) -> Result<Vec<OutputView>, ArtifactError> {
        let (caller, task) = (caller.clone(), task.to_owned());
        let files = self
            .store
            .read(move |tx| Box::pin(async move { load_files(tx, &caller, &task, job).await }))
            .await?;
        Ok(files.files.into_iter().map(view).collect())
    }

    /// The text of one of those files, at most `max_bytes` of its beginning.
    pub async fn evidence_text(
        &self,
        caller: &Caller,
        (task, job): (&str, JobId),
        path: &str,
        max_bytes: usize,
    ) -> Result<OutputText, ArtifactError> {
        let (caller, task) = (caller.clone(), task.to_owned());
        let files = self
            .store
            .read(move |tx| Box::pin(async move { load_files(tx, &caller, &task, job).await }))
            .await?;
        let file = files.find(path)?;
        let bytes = self.read_beginning(stored(&file), max_bytes).await?;
        let is_cut = i64::try_from(bytes.len()).unwrap_or(i64::MAX) < file.size_bytes;
        let text = text_of(bytes);
        let (is_binary, output) = (text.is_none(), view(file));
        Ok(OutputText { output, text: text.unwrap_or_default(), is_binary, is_cut })
    }

    /// What the job changed in one of those files, as a unified diff of at most `max_bytes`: against the
    /// newest file that an earlier job of the task left at the path, else against the attachment of that
    /// name.
    pub async fn evidence_diff(
        &self,
        caller: &Caller,
        (task, job): (&str, JobId),
        path: &str,
        max_bytes: usize,
    ) -> Result<OutputDiff, ArtifactError> {
        let (caller, task, wanted) = (caller.clone(), task.to_owned(), path.to_owned());
        let (files, before) = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let files = load_files(tx, &caller, &task, job).await?;
                    let made_by = files.find(&wanted)?.job;
                    let before = load_previous(tx, (files.task, made_by), &wanted).await?;
                    Ok::<_, ArtifactError>((files, before))
                })
            })
            .await?;
        let file = files.find(path)?;
        let after = text_of(self.read_beginning(stored(&file), MAX_COMPARED_BYTES).await?);
        let (against, old) = match before {
            Some(Before { named, stored }) => {
                (Some(named), text_of(self.read_beginning(stored, MAX_COMPARED_BYTES).await?))
            }
            None => (None, Some(String::new())),
        };
        let (is_binary, output) = (after.is_none() || old.is_none(), view(file));
        let (old, new) = (old.unwrap_or_default(), after.unwrap_or_default());
        let diff = if is_binary { String::new() } else { compare(old, new).await? };
        let end = diff.floor_char_boundary(max_bytes);
        let is_cut = end < diff.len();
        let diff = diff.get(..end).unwrap_or_default().to_owned();
        Ok(OutputDiff { output, against, diff, is_binary, is_cut })
    }
}

impl Artifacts {
    /// At most `max` bytes of the beginning of a file.
    async fn read_beginning(&self, stored: Stored, max: usize) -> Result<Vec<u8>, ArtifactError> {
        let (mut content, mut bytes) = (self.stored(stored).await?, vec![]);
        while bytes.len() < max
            && let Some(piece) = content.next().await
        {
            bytes.extend(piece.map_err(BlobError::Disk)?);
        }
        bytes.truncate(max);
        Ok(bytes)
    }
}

/// The files that count, and the task that they are of.
struct Files {
    task: TaskId,
    files: Vec<JobOutput>,
}

impl Files {
    fn find(&self, path: &str) -> Result<JobOutput, ArtifactError> {
        let found = self.files.iter().find(|file| file.path == path);
        found.cloned().ok_or_else(|| ArtifactError::NotFound(path.to_owned()))
    }
}

/// The file that a job's file took the place of.
struct Before {
    /// What it is, in words.
    named: String,
    stored: Stored,
}

async fn load_files(
    tx: &mut Tx,
    caller: &Caller,
    task: &str,
    job: JobId,
) -> Result<Files, ArtifactError> {
    let task = tasks::find(tx, caller, task).await?.asked.id;
    let job: Option<Job> = tx.job_get(job).await?.filter(|job| job.asked.task == task);
    let job = job.ok_or_else(|| ArtifactError::NotFound("of that job".to_owned()))?;
    let planned = planned_step(tx, task, job.asked.step_index).await?;
    let is_last = planned.is_none_or(|planned| planned.is_last);
    let mut files: Vec<JobOutput> = vec![];
    // The attempt's own files come first: they hide those that earlier steps left at the same path.
    for file in outputs(tx, &job, RunFiles::for_step(is_last)).await? {
        if !files.iter().any(|known| known.path == file.path) {
            files.push(file);
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(Files { task, files })
}

async fn load_previous(
    tx: &mut Tx,
    (task, job): (TaskId, JobId),
    path: &str,
) -> Result<Option<Before>, ArtifactError> {
    if let Some(older) = tx.output_before(task, job, path).await? {
        let named = format!("what job {} left", older.job);
        return Ok(Some(Before { named, stored: stored(&older) }));
    }
    let attachment = tx.artifact_get(task, ATTACHMENT, path).await?;
    Ok(attachment.map(|file| {
        let named = "the attachment of that name".to_owned();
        let stored = Stored { sha256: file.sha256, size_bytes: file.size_bytes };
        Before { named, stored }
    }))
}

fn stored(output: &JobOutput) -> Stored {
    Stored { sha256: output.sha256.clone(), size_bytes: output.size_bytes }
}

/// The bytes as text; nothing if they are none. A character that the limit cut in two is left out.
fn text_of(bytes: Vec<u8>) -> Option<String> {
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

/// A unified diff. Texts come from users and may be slow to compare: other requests do not wait for it.
async fn compare(old: String, new: String) -> Result<String, ArtifactError> {
    let compared = tokio::task::spawn_blocking(move || {
        let diff = TextDiff::configure().timeout(COMPARE_WITHIN).diff_lines(&old, &new);
        diff.unified_diff().context_radius(CONTEXT_LINES).header("before", "after").to_string()
    });
    compared.await.map_err(|error| BlobError::Disk(std::io::Error::other(error)).into())
}

fn view(output: JobOutput) -> OutputView {
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
        assert_eq!(text_of("tä".into()).as_deref(), Some("tä"));
        assert_eq!(text_of("tä".as_bytes()[..2].to_vec()).as_deref(), Some("t"), "cut in two");
        assert_eq!(text_of(b"a\0b".to_vec()), None);
        assert_eq!(text_of(vec![0xff, b'a']), None);
    }

    #[tokio::test]
    async fn a_diff_shows_the_lines_that_changed() {
        let diff = compare("one\ntwo\n".to_owned(), "one\nthree\n".to_owned()).await.unwrap();

        assert!(diff.contains("-two\n+three\n"), "{diff}");
        assert_eq!(compare("same".to_owned(), "same".to_owned()).await.unwrap(), "");
    }
}
