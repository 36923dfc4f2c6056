//! Files that belong to a task: their names and hashes. Content is kept outside the database.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{ArtifactId, JobId, RunId, TaskId};

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
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

/// A file as one job left it. A later job of the same task does not replace it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobOutput {
    /// The job that made it.
    pub job: JobId,
    /// The step of that job, from 0.
    pub step_index: u32,
    /// Its path, unique in the job.
    pub path: String,
    /// Its size.
    pub size_bytes: i64,
    /// The SHA-256 of its content, in hex: also where the content is found.
    pub sha256: String,
    /// When it was stored.
    pub created_at: DateTime<Utc>,
}

/// Which jobs of a run left the files that an attempt at a step may build on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeforeStep {
    /// The run.
    pub run: RunId,
    /// The step that is to be judged: only steps before it count.
    pub step_index: u32,
    /// Attempts with this number or a higher one are no attempts at a step.
    pub attempts_below: u32,
}

/// Files that belong to a task.
#[async_trait]
pub trait ArtifactStore {
    /// Adds an artifact; the newest one at a path stays. Gives the artifact as stored. One that a job
    /// made is also kept as an output of that job.
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
    /// The outputs of one job, by path.
    async fn output_list(&mut self, job: JobId) -> Result<Vec<JobOutput>, Error>;
    /// The outputs of the newest attempt at each earlier step of a run, by step and path. A run goes on
    /// from a step only when its newest attempt was accepted.
    async fn output_list_before(&mut self, before: BeforeStep) -> Result<Vec<JobOutput>, Error>;
    /// The newest output at a path that a job of the task made which is older than this one.
    async fn output_before(
        &mut self,
        task: TaskId,
        job: JobId,
        path: &str,
    ) -> Result<Option<JobOutput>, Error>;
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
        let stored = self.row(sql, params).await?;
        let stored = stored.as_ref().map_or_else(|| Ok(new.clone()), artifact)?;
        if let Some(job) = new.job {
            let sql = "INSERT INTO job_outputs
                       (job_id, path, size_bytes, checksum_sha256, created_at)
                       VALUES ($1, $2, $3, $4, $5)
                       ON CONFLICT (job_id, path) DO UPDATE SET size_bytes = excluded.size_bytes,
                           checksum_sha256 = excluded.checksum_sha256,
                           created_at = excluded.created_at";
            let params = params![job, &new.path, new.size_bytes, &new.sha256, new.created_at];
            self.execute(sql, params).await?;
        }
        Ok(stored)
    }

    async fn artifact_list(&mut self, task: TaskId) -> Result<Vec<Artifact>, Error> {
        let sql = "SELECT * FROM task_artifacts WHERE task_id = $1 ORDER BY kind, path";
        self.list(&tables::ARTIFACTS, sql, params![task], artifact).await
    }

    async fn artifact_get(
        &mut self,
        task: TaskId,
        kind: &str,
        path: &str,
    ) -> Result<Option<Artifact>, Error> {
        let sql = "SELECT * FROM task_artifacts WHERE task_id = $1 AND kind = $2 AND path = $3";
        self.one(&tables::ARTIFACTS, sql, params![task, kind, path], artifact).await
    }

    async fn output_list(&mut self, job: JobId) -> Result<Vec<JobOutput>, Error> {
        let sql = "SELECT o.*, j.step_index FROM job_outputs o JOIN jobs j ON j.id = o.job_id
                   WHERE o.job_id = $1 ORDER BY o.path";
        // All or none: what is left out here would not be there for whoever judges the job.
        self.all(&tables::JOB_OUTPUTS, sql, params![job], output).await
    }

    async fn output_list_before(&mut self, before: BeforeStep) -> Result<Vec<JobOutput>, Error> {
        let sql = "SELECT o.*, j.step_index FROM jobs j JOIN job_outputs o ON o.job_id = j.id
                   WHERE j.run_id = $1 AND j.step_index < $2 AND j.attempt < $3
                   AND NOT EXISTS (SELECT 1 FROM jobs later WHERE later.run_id = j.run_id
                       AND later.step_index = j.step_index AND later.attempt > j.attempt
                       AND later.attempt < $3)
                   ORDER BY j.step_index, o.path";
        let params = params![before.run, before.step_index, before.attempts_below];
        self.all(&tables::JOB_OUTPUTS, sql, params, output).await
    }

    async fn output_before(
        &mut self,
        task: TaskId,
        job: JobId,
        path: &str,
    ) -> Result<Option<JobOutput>, Error> {
        let sql = "SELECT o.*, j.step_index FROM job_outputs o JOIN jobs j ON j.id = o.job_id
                   WHERE j.task_id = $1 AND j.id < $2 AND o.path = $3
                   ORDER BY j.id DESC LIMIT 1";
        self.one(&tables::JOB_OUTPUTS, sql, params![task, job, path], output).await
    }
}

/// An output with the step of its job.
pub(crate) const OUTPUT: &str =
    "SELECT o.*, j.step_index FROM job_outputs o JOIN jobs j ON j.id = o.job_id";

pub(crate) fn output(row: &Row) -> Result<JobOutput, Error> {
    Ok(JobOutput {
        job: row.id("job_id")?,
        step_index: row.count("step_index")?,
        path: row.get("path")?,
        size_bytes: row.get("size_bytes")?,
        sha256: row.get("checksum_sha256")?,
        created_at: row.get("created_at")?,
    })
}

pub(crate) fn artifact(row: &Row) -> Result<Artifact, Error> {
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
