//! Notes that agents keep while their job runs.

use chrono::{DateTime, Utc};
use cynode_domain::ids::JobId;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobNote {
    pub job: JobId,
    /// Unique within the job.
    pub key: String,
    pub summary: Option<String>,
    /// Empty in lists.
    pub content: String,
    /// The size of the content.
    pub size_bytes: i64,
    pub updated_at: DateTime<Utc>,
}

/// The number and size of a job's notes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobNoteTotals {
    pub notes: i64,
    pub bytes: i64,
}

impl Tx {
    /// Writes a note, replacing an earlier one with the same key.
    pub async fn note_put(&mut self, note: &JobNote) -> Result<(), Error> {
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

    /// Returns a note of a job.
    pub async fn note_get(&mut self, job: JobId, key: &str) -> Result<Option<JobNote>, Error> {
        let sql = "SELECT * FROM job_memory WHERE job_id = $1 AND key = $2";
        self.one(&tables::JOB_MEMORY, sql, params![job, key], note).await
    }

    /// Lists notes of a job by key, after `after`, without content.
    pub async fn note_list(
        &mut self,
        job: JobId,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<JobNote>, Error> {
        let sql = "SELECT job_id, key, summary, '' AS content, size_bytes, updated_at
                   FROM job_memory WHERE job_id = $1
                   AND ($2 /*pg ::text */ IS NULL OR key > $2) ORDER BY key LIMIT $3";
        self.page(&tables::JOB_MEMORY, sql, params![job, after, limit], note).await
    }

    /// Removes a note; returns false if it does not exist.
    pub async fn note_delete(&mut self, job: JobId, key: &str) -> Result<bool, Error> {
        let sql = "DELETE FROM job_memory WHERE job_id = $1 AND key = $2";
        Ok(self.execute(sql, params![job, key]).await? == 1)
    }

    /// Totals of a job's notes, except the note with this key.
    pub async fn note_totals(
        &mut self,
        job: JobId,
        apart_from: &str,
    ) -> Result<JobNoteTotals, Error> {
        let sql = "SELECT count(*) AS notes,
                   cast(coalesce(sum(size_bytes), 0) AS bigint) AS bytes
                   FROM job_memory WHERE job_id = $1 AND key <> $2";
        let row = self.row(sql, params![job, apart_from]).await?;
        row.map_or(Ok(JobNoteTotals::default()), |row| {
            Ok(JobNoteTotals { notes: row.get("notes")?, bytes: row.get("bytes")? })
        })
    }

    /// Deletes the notes of every job that has ended. Returns how many.
    pub async fn note_delete_ended(&mut self) -> Result<u64, Error> {
        let sql = "DELETE FROM job_memory WHERE EXISTS
                   (SELECT 1 FROM jobs WHERE jobs.id = job_memory.job_id AND jobs.closed)";
        self.execute(sql, &[]).await
    }
}

pub(crate) fn note(row: &Row) -> Result<JobNote, Error> {
    Ok(JobNote {
        job: row.id("job_id")?,
        key: row.get("key")?,
        summary: row.get("summary")?,
        content: row.get("content")?,
        size_bytes: row.get("size_bytes")?,
        updated_at: row.get("updated_at")?,
    })
}
