//! What an agent notes while its job runs: gone when the job ends.

use cynode_domain::ids::JobId;
use cynode_runtime::clock::SharedClock;
use cynode_store::{Job, JobStore, MemoryStore, Note, Store, TaskStore, Tx};
use cynode_wire::memory::{AddNote, NoteContentView, NoteView};
use cynode_wire::page::{Page, PageQuery};

use crate::paging::PageRequest;
use crate::secrets::WithoutSecrets as _;
use crate::{BadCursor, Caller};

const MAX_KEY_CHARS: usize = 200;
const MAX_SUMMARY_CHARS: usize = 1000;
const MAX_CONTENT_BYTES: usize = 64 * 1024;
const MAX_NOTES: i64 = 200;
const MAX_JOB_BYTES: i64 = 1024 * 1024;

/// Why an operation on notes was refused.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// There is no such job, or the caller may not see it.
    #[error("there is no job {0}")]
    NoJob(JobId),
    /// The job has ended, and its memory with it.
    #[error("job {0} has ended, and its memory with it")]
    Ended(JobId),
    /// There is no such note.
    #[error("there is no note \"{0}\"")]
    NotFound(String),
    /// The request breaks rules.
    #[error("{0}")]
    Invalid(String),
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// Notes of jobs. Cheap to clone.
#[derive(Clone)]
pub struct Memory {
    store: Store,
    clock: SharedClock,
}

impl Memory {
    /// Notes kept in `store`.
    pub fn new(store: Store, clock: SharedClock) -> Self {
        Self { store, clock }
    }

    /// Keeps a note; what had its key before is replaced.
    pub async fn add(
        &self,
        caller: &Caller,
        job: JobId,
        request: AddNote,
    ) -> Result<NoteView, MemoryError> {
        check(&request)?;
        let (caller, now) = (caller.clone(), self.clock.now());
        let content = request.content.without_secrets();
        let note = Note {
            job,
            size_bytes: i64::try_from(content.len()).unwrap_or(i64::MAX),
            key: request.key,
            summary: request.summary.without_secrets(),
            content,
            updated_at: now,
        };
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let found = tx.job_lock(job).await?;
                    open(tx, &caller, job, found).await?;
                    let others = tx.note_totals(job, &note.key).await?;
                    if others.notes >= MAX_NOTES {
                        return Err(invalid(format!("a job keeps {MAX_NOTES} notes at most")));
                    }
                    if others.bytes + note.size_bytes > MAX_JOB_BYTES {
                        let rule = format!("the notes of a job have {MAX_JOB_BYTES} bytes at most");
                        return Err(invalid(rule));
                    }
                    tx.note_put(&note).await?;
                    Ok(view(note))
                })
            })
            .await
    }

    /// A page of the notes of a job, by key, without their text.
    pub async fn list(
        &self,
        caller: &Caller,
        job: JobId,
        query: &PageQuery,
    ) -> Result<Page<NoteView>, MemoryError> {
        let request = PageRequest::<String>::check(query)?;
        let (caller, after, fetch) = (caller.clone(), request.before.clone(), request.fetch);
        let notes = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let found = tx.job_get(job).await?;
                    open(tx, &caller, job, found).await?;
                    Ok::<_, MemoryError>(tx.note_list(job, after.as_deref(), fetch).await?)
                })
            })
            .await?;
        Ok(request.page(notes, |note| note.key.clone(), view))
    }

    /// A note with its text.
    pub async fn retrieve(
        &self,
        caller: &Caller,
        job: JobId,
        key: &str,
    ) -> Result<NoteContentView, MemoryError> {
        let (caller, key) = (caller.clone(), key.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let found = tx.job_get(job).await?;
                    open(tx, &caller, job, found).await?;
                    let note = tx.note_get(job, &key).await?.ok_or_else(|| not_found(&key))?;
                    let content = note.content.clone();
                    Ok(NoteContentView { job_id: job, content, note: view(note) })
                })
            })
            .await
    }

    /// Removes a note.
    pub async fn remove(&self, caller: &Caller, job: JobId, key: &str) -> Result<(), MemoryError> {
        let (caller, key) = (caller.clone(), key.to_owned());
        self.store
            .write(move |tx| {
                Box::pin(async move {
                    let found = tx.job_get(job).await?;
                    open(tx, &caller, job, found).await?;
                    if tx.note_delete(job, &key).await? { Ok(()) } else { Err(not_found(&key)) }
                })
            })
            .await
    }
}

/// Refuses jobs that the caller may not see, and those that have ended: their notes may still be
/// there for a moment.
async fn open(
    tx: &mut Tx,
    caller: &Caller,
    id: JobId,
    found: Option<Job>,
) -> Result<(), MemoryError> {
    let job = found.ok_or(MemoryError::NoJob(id))?;
    let task = tx.task_get(job.asked.task).await?;
    if !task.is_some_and(|task| caller.may_see(task.asked.created_by)) {
        return Err(MemoryError::NoJob(id));
    }
    if job.status.is_terminal() { Err(MemoryError::Ended(id)) } else { Ok(()) }
}

fn check(request: &AddNote) -> Result<(), MemoryError> {
    let is_named = (1..=MAX_KEY_CHARS).contains(&request.key.chars().count());
    let summary = request.summary.as_deref().unwrap_or_default();
    if !is_named {
        Err(invalid(format!("a key has 1 to {MAX_KEY_CHARS} characters")))
    } else if request.content.len() > MAX_CONTENT_BYTES {
        Err(invalid(format!("a note has {MAX_CONTENT_BYTES} bytes at most")))
    } else if summary.chars().count() > MAX_SUMMARY_CHARS {
        Err(invalid(format!("a summary has {MAX_SUMMARY_CHARS} characters at most")))
    } else {
        Ok(())
    }
}

fn invalid(rule: String) -> MemoryError {
    MemoryError::Invalid(rule)
}

fn not_found(key: &str) -> MemoryError {
    MemoryError::NotFound(key.chars().take(100).collect())
}

fn view(note: Note) -> NoteView {
    NoteView {
        key: note.key,
        summary: note.summary,
        size_bytes: note.size_bytes,
        updated_at: note.updated_at,
    }
}
