//! Files that belong to a task: their names and hashes. Content is kept outside the database.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{ArtifactId, JobId, TaskId};

use crate::column::Row;
use crate::param::params;
use crate::{Error, Tx};

/// A file that belongs to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    /// The artifact's id.
    pub id: ArtifactId,
    /// The task it belongs to.
    pub task: TaskId,
    /// The job that made it; absent for attachments.
    pub job: Option<JobId>,
    /// `attachment` or `output`.
    pub kind: String,
    /// Its path, unique in the task for its kind.
    pub path: String,
    /// Its size.
    pub size_bytes: i64,
    /// The SHA-256 of its content, in hex: also where the content is found.
    pub sha256: String,
    /// When it was stored.
    pub created_at: DateTime<Utc>,
}

/// Files that belong to a task.
#[async_trait]
pub trait ArtifactStore {
    /// Adds an artifact; the newest one at a path stays. Gives the artifact as stored.
    async fn artifact_put(&mut self, artifact: &Artifact) -> Result<Artifact, Error>;
    /// Every artifact of a task, by path.
    async fn artifact_list(&mut self, task: TaskId) -> Result<Vec<Artifact>, Error>;
    /// One artifact of a task.
    async fn artifact_get(
        &mut self,
        task: TaskId,
        kind: &str,
        path: &str,
    ) -> Result<Option<Artifact>, Error>;
}

#[async_trait]
impl ArtifactStore for Tx {
    async fn artifact_put(&mut self, new: &Artifact) -> Result<Artifact, Error> {
        let sql = "INSERT INTO task_artifacts
                   (id, task_id, job_id, kind, path, size_bytes, checksum_sha256, created_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
                   ON CONFLICT (task_id, kind, path) DO UPDATE SET job_id = excluded.job_id,
                       size_bytes = excluded.size_bytes,
                       checksum_sha256 = excluded.checksum_sha256,
                       created_at = excluded.created_at
                   RETURNING *";
        let params = params![
            new.id,
            new.task,
            new.job,
            &new.kind,
            &new.path,
            new.size_bytes,
            &new.sha256,
            new.created_at,
        ];
        self.row(sql, params).await?.as_ref().map_or_else(|| Ok(new.clone()), artifact)
    }

    async fn artifact_list(&mut self, task: TaskId) -> Result<Vec<Artifact>, Error> {
        let sql = "SELECT * FROM task_artifacts WHERE task_id = $1 ORDER BY kind, path";
        self.rows(sql, params![task]).await?.iter().map(artifact).collect()
    }

    async fn artifact_get(
        &mut self,
        task: TaskId,
        kind: &str,
        path: &str,
    ) -> Result<Option<Artifact>, Error> {
        let sql = "SELECT * FROM task_artifacts WHERE task_id = $1 AND kind = $2 AND path = $3";
        self.row(sql, params![task, kind, path]).await?.as_ref().map(artifact).transpose()
    }
}

fn artifact(row: &Row) -> Result<Artifact, Error> {
    Ok(Artifact {
        id: row.id("id")?,
        task: row.id("task_id")?,
        job: row.id_opt("job_id")?,
        kind: row.get("kind")?,
        path: row.get("path")?,
        size_bytes: row.get("size_bytes")?,
        sha256: row.get("checksum_sha256")?,
        created_at: row.get("created_at")?,
    })
}
