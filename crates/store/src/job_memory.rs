//! What agents note while their job runs.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::JobId;

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// A note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The job it belongs to.
    pub job: JobId,
    /// Its name within the job.
    pub key: String,
    /// What it is about, in short.
    pub summary: Option<String>,
    /// The note itself; empty where a list leaves it out.
    pub content: String,
    /// How long the note is, in bytes.
    pub size_bytes: i64,
    /// When it was written.
    pub updated_at: DateTime<Utc>,
}

/// How much a job has noted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NoteTotals {
    /// How many notes.
    pub notes: i64,
    /// How many bytes of content.
    pub bytes: i64,
}

/// Notes of jobs.
#[async_trait]
pub trait MemoryStore {
    /// Writes a note; what had its key before is replaced.
    async fn note_put(&mut self, note: &Note) -> Result<(), Error>;
    /// A note of a job.
    async fn note_get(&mut self, job: JobId, key: &str) -> Result<Option<Note>, Error>;
    /// Notes of a job by key, after `after`, without content.
    async fn note_list(
        &mut self,
        job: JobId,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Note>, Error>;
    /// Removes a note; false if there is none.
    async fn note_delete(&mut self, job: JobId, key: &str) -> Result<bool, Error>;
    /// How much a job has noted, apart from the note with this key.
    async fn note_totals(&mut self, job: JobId, apart_from: &str) -> Result<NoteTotals, Error>;
    /// Removes the notes of every job that has ended. Gives how many.
    async fn note_forget_ended(&mut self) -> Result<u64, Error>;
}

#[async_trait]
impl MemoryStore for Tx {
    async fn note_put(&mut self, note: &Note) -> Result<(), Error> {
        let sql = "INSERT INTO job_memory (job_id, key, summary, content, size_bytes, updated_at)
                   VALUES ($1, $2, $3, $4, $5, $6)
                   ON CONFLICT (job_id, key) DO UPDATE SET summary = excluded.summary,
                       content = excluded.content, size_bytes = excluded.size_bytes,
                       updated_at = excluded.updated_at";
        let params = params![
            note.job,
            &note.key,
            note.summary.clone(),
            &note.content,
            note.size_bytes,
            note.updated_at,
        ];
        self.execute(sql, params).await.map(drop)
    }

    async fn note_get(&mut self, job: JobId, key: &str) -> Result<Option<Note>, Error> {
        let sql = "SELECT * FROM job_memory WHERE job_id = $1 AND key = $2";
        self.one(&tables::JOB_MEMORY, sql, params![job, key], note).await
    }

    async fn note_list(
        &mut self,
        job: JobId,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<Note>, Error> {
        let sql = "SELECT job_id, key, summary, '' AS content, size_bytes, updated_at
                   FROM job_memory WHERE job_id = $1
                   AND ($2 /*pg ::text */ IS NULL OR key > $2) ORDER BY key LIMIT $3";
        self.page(&tables::JOB_MEMORY, sql, params![job, after, limit], note).await
    }

    async fn note_delete(&mut self, job: JobId, key: &str) -> Result<bool, Error> {
        let sql = "DELETE FROM job_memory WHERE job_id = $1 AND key = $2";
        Ok(self.execute(sql, params![job, key]).await? == 1)
    }

    async fn note_totals(&mut self, job: JobId, apart_from: &str) -> Result<NoteTotals, Error> {
        let sql = "SELECT count(*) AS notes,
                   cast(coalesce(sum(size_bytes), 0) AS bigint) AS bytes
                   FROM job_memory WHERE job_id = $1 AND key <> $2";
        let row = self.row(sql, params![job, apart_from]).await?;
        row.map_or(Ok(NoteTotals::default()), |row| {
            Ok(NoteTotals { notes: row.get("notes")?, bytes: row.get("bytes")? })
        })
    }

    async fn note_forget_ended(&mut self) -> Result<u64, Error> {
        let sql = "DELETE FROM job_memory WHERE EXISTS
                   (SELECT 1 FROM jobs WHERE jobs.id = job_memory.job_id AND jobs.closed)";
        self.execute(sql, &[]).await
    }
}

pub(crate) fn note(row: &Row) -> Result<Note, Error> {
    Ok(Note {
        job: row.id("job_id")?,
        key: row.get("key")?,
        summary: row.get("summary")?,
        content: row.get("content")?,
        size_bytes: row.get("size_bytes")?,
        updated_at: row.get("updated_at")?,
    })
}
