//! The bytes that stored files take, and which content is in use.
//!
//! Triggers of the database count the bytes in the transaction that writes or deletes a file (migration 34).

use std::collections::HashSet;

use cynode_domain::ids::{ProjectId, TaskId, UserId};

use crate::{Error, Tx};
use cynode_sql::{Param, Row, params};

/// What a file counts with at least, as in migration 34: a small file takes a block of the disk.
const MIN_FILE_BYTES: i64 = 4096;

/// The bytes that a project's files take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectStorage {
    pub project: ProjectId,
    pub slug: String,
    pub held_bytes: i64,
}

/// Files that were deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeletedFiles {
    /// Paths that no longer have a file, counted once for each kind.
    pub files: u64,
    pub freed_bytes: i64,
    pub has_attachments: bool,
}

/// The size that a file counts with.
pub fn counted_bytes(size_bytes: i64) -> i64 {
    size_bytes.max(MIN_FILE_BYTES)
}

/// A file whose size cannot be read is deleted too.
fn freed_bytes(row: &Row) -> i64 {
    row.get("size_bytes").map_or(0, counted_bytes)
}

impl Tx {
    /// Returns the bytes that the files of a user and of a project take; 0 without a project.
    pub async fn storage_held(
        &mut self,
        user: UserId,
        project: Option<ProjectId>,
    ) -> Result<(i64, i64), Error> {
        let sql = "SELECT (SELECT held_bytes FROM storage_usage WHERE subject_id = $1) AS of_user,
                   (SELECT held_bytes FROM storage_usage WHERE subject_id = $2) AS of_project";
        let row = self.row(sql, params![user, project]).await?;
        let held = |column| match &row {
            Some(row) => Ok::<_, Error>(row.get::<Option<i64>>(column)?.unwrap_or(0)),
            None => Ok(0),
        };
        Ok((held("of_user")?, held("of_project")?))
    }

    /// Lists the projects of a user whose files take the most bytes.
    pub async fn storage_by_project(
        &mut self,
        owner: UserId,
        limit: u32,
    ) -> Result<Vec<ProjectStorage>, Error> {
        let sql = "SELECT p.id, p.slug, coalesce(u.held_bytes, 0) AS held_bytes
                   FROM projects p LEFT JOIN storage_usage u ON u.subject_id = p.id
                   WHERE p.owner_id = $1 ORDER BY coalesce(u.held_bytes, 0) DESC, p.id LIMIT $2";
        let usage = |row: &Row| {
            let (project, slug) = (row.id("id")?, row.get("slug")?);
            Ok(ProjectStorage { project, slug, held_bytes: row.get("held_bytes")? })
        };
        self.rows(sql, params![owner, limit]).await?.iter().map(usage).collect()
    }

    /// Deletes the files of a task at a path, or all of them: attachments, stored files and outputs of its jobs.
    pub async fn artifact_delete(
        &mut self,
        task: TaskId,
        path: Option<&str>,
    ) -> Result<DeletedFiles, Error> {
        let params = params![task, path];
        let sql = "DELETE FROM task_artifacts
                   WHERE task_id = $1 AND ($2 /*pg ::text */ IS NULL OR path = $2)
                   RETURNING kind = 'attachment' AS is_attachment, job_id IS NULL AS counts, size_bytes";
        let mut deleted = DeletedFiles::default();
        for row in self.rows(sql, params).await? {
            deleted.files += 1;
            deleted.has_attachments |= row.get::<bool>("is_attachment")?;
            if row.get("counts")? {
                deleted.freed_bytes += freed_bytes(&row);
            }
        }
        let sql = "DELETE FROM job_outputs WHERE job_id IN (SELECT id FROM jobs WHERE task_id = $1)
                   AND ($2 /*pg ::text */ IS NULL OR path = $2) RETURNING size_bytes";
        for row in self.rows(sql, params).await? {
            deleted.freed_bytes += freed_bytes(&row);
        }
        if deleted.has_attachments {
            let sql = "UPDATE tasks SET attachments_deleted = $2 WHERE id = $1";
            self.execute(sql, params![task, true]).await?;
        }
        Ok(deleted)
    }

    /// Whether attachments of a task were deleted, so that it cannot run again.
    pub async fn task_lost_attachments(&mut self, task: TaskId) -> Result<bool, Error> {
        let sql = "SELECT id FROM tasks WHERE id = $1 AND attachments_deleted";
        Ok(self.row(sql, params![task]).await?.is_some())
    }

    /// Keeps collectors away from a group of blobs until the transaction ends.
    pub async fn blob_group_share(&mut self, prefix: &str) -> Result<(), Error> {
        let sql = "SELECT prefix FROM blob_groups WHERE prefix = $1 /*pg FOR SHARE */";
        self.rows(sql, params![prefix]).await.map(drop)
    }

    /// Keeps writers away from a group of blobs until the transaction ends. False while one of them uses it.
    pub async fn blob_group_lock(&mut self, prefix: &str) -> Result<bool, Error> {
        let sql = "SELECT prefix FROM blob_groups WHERE prefix = $1 /*pg FOR UPDATE SKIP LOCKED */";
        Ok(self.row(sql, params![prefix]).await?.is_some())
    }

    /// Returns which of these hashes are the content of a file.
    pub async fn blobs_in_use(&mut self, hashes: &[String]) -> Result<HashSet<String>, Error> {
        let Some(last) = hashes.last() else { return Ok(HashSet::new()) };
        // Padded, so that lists of any length share few prepared statements.
        let mut params: Vec<Param> = hashes.iter().map(Param::from).collect();
        params.resize_with(hashes.len().next_power_of_two(), || last.into());
        let rows: Vec<String> = (1..=params.len()).map(|number| format!("(${number})")).collect();
        let sql = format!(
            "SELECT v.column1 AS sha256 FROM (VALUES {}) AS v
             WHERE EXISTS (SELECT 1 FROM task_artifacts a WHERE a.checksum_sha256 = v.column1)
                OR EXISTS (SELECT 1 FROM job_outputs o WHERE o.checksum_sha256 = v.column1)",
            rows.join(", ")
        );
        self.rows(&sql, &params).await?.iter().map(|row| row.get("sha256")).collect()
    }

    /// Returns the id that identifies this database in the directory of blobs.
    pub async fn blob_database_id(&mut self) -> Result<String, Error> {
        let row = self.row("SELECT database_id FROM blob_directory", &[]).await?;
        row.ok_or(Error::Closed)?.get("database_id")
    }
}
