//! Notes of an agent during a job; deleted when the job ends.

use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::JobId;
use cynode_runtime::clock::SharedClock;
use cynode_store::{Job, JobNote, Store, Tx};
use cynode_wire::memory::{
    AddNote, MAX_CONTENT_BYTES, MAX_KEY_CHARS, MAX_SUMMARY_CHARS, NoteContentView, NoteView,
};
use cynode_wire::page::{Page, PageQuery};

use cynode_resources::paging::PageRequest;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::{Caller, PageError};

const MAX_NOTES: i64 = 200;
const MAX_JOB_BYTES: i64 = 1024 * 1024;

#[derive(Debug, thiserror::Error)]
pub enum JobNoteError {
    /// Also returned if the caller may not see the job.
    #[error("there is no job {0}")]
    NoJob(JobId),
    #[error("job {0} has ended; its notes are deleted")]
    Ended(JobId),
    #[error("there is no note \"{0}\"")]
    NotFound(String),
    #[error("{0}")]
    Invalid(String),
    #[error(transparent)]
    Page(#[from] PageError),
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for JobNoteError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NoJob(_) | Self::NotFound(_) => Classification::new(ErrorClass::NotFound, self),
            Self::Ended(_) => Classification::new(ErrorClass::Conflict, self),
            Self::Invalid(_) => Classification::new(ErrorClass::Invalid, self),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Manages notes of jobs. Cheap to clone.
#[derive(Clone)]
pub struct JobNotes {
    store: Store,
    clock: SharedClock,
}

impl JobNotes {
    pub fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Stores a note; replaces an existing one with the same key.
    pub async fn add(
        &self,
        caller: &Caller,
        job: JobId,
        request: AddNote,
    ) -> Result<NoteView, JobNoteError> {
        validate_note(&request)?;
        let (caller, now) = (caller.clone(), self.clock.now());
        let content = request.content.redact_secrets();
        let note = JobNote {
            job,
            size_bytes: i64::try_from(content.len()).unwrap_or(i64::MAX),
            key: request.key,
            summary: request.summary.redact_secrets(),
            content,
            updated_at: now,
        };
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let found = tx.job_lock(job).await?;
                    require_open_job(tx, &caller, job, found).await?;
                    let others = tx.note_totals(job, &note.key).await?;
                    if others.notes >= MAX_NOTES {
                        return Err(invalid(format!("a job may have at most {MAX_NOTES} notes")));
                    }
                    if others.bytes + note.size_bytes > MAX_JOB_BYTES {
                        let rule =
                            format!("the notes of a job may have at most {MAX_JOB_BYTES} bytes");
                        return Err(invalid(rule));
                    }
                    tx.note_put(&note).await?;
                    Ok(note_view(note))
                })
            })
            .await
    }

    /// Returns a page of a job's notes by key, without content.
    pub async fn list(
        &self,
        caller: &Caller,
        job: JobId,
        query: &PageQuery,
    ) -> Result<Page<NoteView>, JobNoteError> {
        let request = PageRequest::<String>::parse(query)?;
        let (caller, after, fetch) = (caller.clone(), request.before.clone(), request.fetch);
        let notes = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let found = tx.job_get(job).await?;
                    require_open_job(tx, &caller, job, found).await?;
                    Ok::<_, JobNoteError>(tx.note_list(job, after.as_deref(), fetch).await?)
                })
            })
            .await?;
        Ok(request.page(notes, |note| note.key.clone(), note_view))
    }

    /// Returns a note with its content.
    pub async fn get_note(
        &self,
        caller: &Caller,
        job: JobId,
        key: &str,
    ) -> Result<NoteContentView, JobNoteError> {
        let (caller, key) = (caller.clone(), key.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let found = tx.job_get(job).await?;
                    require_open_job(tx, &caller, job, found).await?;
                    let note = tx.note_get(job, &key).await?.ok_or_else(|| not_found(&key))?;
                    let content = note.content.clone();
                    Ok(NoteContentView { job_id: job, content, note: note_view(note) })
                })
            })
            .await
    }

    pub async fn remove(&self, caller: &Caller, job: JobId, key: &str) -> Result<(), JobNoteError> {
        let (caller, key) = (caller.clone(), key.to_owned());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let found = tx.job_get(job).await?;
                    require_open_job(tx, &caller, job, found).await?;
                    if tx.note_delete(job, &key).await? { Ok(()) } else { Err(not_found(&key)) }
                })
            })
            .await
    }
}

/// Rejects jobs that the caller may not see, and ended ones, whose notes may exist a moment longer.
async fn require_open_job(
    tx: &mut Tx,
    caller: &Caller,
    id: JobId,
    found: Option<Job>,
) -> Result<(), JobNoteError> {
    let job = found.ok_or(JobNoteError::NoJob(id))?;
    let task = tx.task_get(job.spec.task).await?;
    if !task.is_some_and(|task| caller.may_see(task.spec.created_by)) {
        return Err(JobNoteError::NoJob(id));
    }
    if job.status.is_terminal() { Err(JobNoteError::Ended(id)) } else { Ok(()) }
}

fn validate_note(request: &AddNote) -> Result<(), JobNoteError> {
    let is_named = (1..=MAX_KEY_CHARS).contains(&request.key.chars().count());
    let summary = request.summary.as_deref().unwrap_or_default();
    if !is_named {
        Err(invalid(format!("a key must have 1 to {MAX_KEY_CHARS} characters")))
    } else if request.content.len() > MAX_CONTENT_BYTES {
        Err(invalid(format!("a note may have at most {MAX_CONTENT_BYTES} bytes")))
    } else if summary.chars().count() > MAX_SUMMARY_CHARS {
        Err(invalid(format!("a summary may have at most {MAX_SUMMARY_CHARS} characters")))
    } else {
        Ok(())
    }
}

fn invalid(rule: String) -> JobNoteError {
    JobNoteError::Invalid(rule)
}

fn not_found(key: &str) -> JobNoteError {
    JobNoteError::NotFound(key.chars().take(100).collect())
}

fn note_view(note: JobNote) -> NoteView {
    NoteView {
        key: note.key,
        summary: note.summary,
        size_bytes: note.size_bytes,
        updated_at: note.updated_at,
    }
}
