//! Files of a task: paths and hashes. Content is stored outside the database.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ArtifactId, JobId, RunId, TaskId};

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A file of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact {
    pub id: ArtifactId,
    pub task: TaskId,
    /// The job that produced it; `None` for attachments and changes.
    pub job: Option<JobId>,
    /// `attachment`, `output` or `changes`.
    pub kind: String,
    /// Unique within the task and kind.
    pub path: String,
    pub size_bytes: i64,
    /// The SHA-256 of the content in hex; also the key of the blob.
    pub sha256: String,
    pub created_at: DateTime<Utc>,
}

/// A file as one job produced it. Later jobs of the same task do not replace it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobOutput {
    pub job: JobId,
    /// The step of that job, from 0.
    pub step_index: u32,
    /// Unique within the job.
    pub path: String,
    pub size_bytes: i64,
    /// The SHA-256 of the content in hex; also the key of the blob.
    pub sha256: String,
    pub created_at: DateTime<Utc>,
}

/// Selects the jobs of a run whose outputs an attempt at a step may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EarlierSteps {
    pub run: RunId,
    /// Only steps before this one are selected.
    pub step_index: u32,
    /// Jobs with this attempt number or a higher one are not attempts at a step.
    pub attempts_below: u32,
}

impl Tx {
    /// Adds an artifact, replacing the one at its path if it is newer. Returns the stored artifact. One that a
    /// job produced is also recorded as an output of that job.
    pub async fn artifact_put(&mut self, new: &Artifact) -> Result<Artifact, Error> {
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

    /// Lists the artifacts of a task, by path.
    pub async fn artifact_list(&mut self, task: TaskId) -> Result<Vec<Artifact>, Error> {
        let sql = "SELECT * FROM task_artifacts WHERE task_id = $1 ORDER BY kind, path";
        self.list(&tables::ARTIFACTS, sql, params![task], artifact).await
    }

    /// Returns one artifact of a task.
    pub async fn artifact_get(
        &mut self,
        task: TaskId,
        kind: &str,
        path: &str,
    ) -> Result<Option<Artifact>, Error> {
        let sql = "SELECT * FROM task_artifacts WHERE task_id = $1 AND kind = $2 AND path = $3";
        self.one(&tables::ARTIFACTS, sql, params![task, kind, path], artifact).await
    }

    /// Lists the outputs of one job, by path.
    pub async fn output_list(&mut self, job: JobId) -> Result<Vec<JobOutput>, Error> {
        let sql = "SELECT o.*, j.step_index FROM job_outputs o JOIN jobs j ON j.id = o.job_id
                   WHERE o.job_id = $1 ORDER BY o.path";
        // All or none: the verification of the job must not miss an output.
        self.all(&tables::JOB_OUTPUTS, sql, params![job], output).await
    }

    /// Lists the outputs of the newest attempt at each earlier step of a run, by step and path. A run leaves a
    /// step only when its newest attempt was accepted.
    pub async fn output_list_before(
        &mut self,
        before: EarlierSteps,
    ) -> Result<Vec<JobOutput>, Error> {
        let sql = "SELECT o.*, j.step_index FROM jobs j JOIN job_outputs o ON o.job_id = j.id
                   WHERE j.run_id = $1 AND j.step_index < $2 AND j.attempt < $3
                   AND NOT EXISTS (SELECT 1 FROM jobs later WHERE later.run_id = j.run_id
                       AND later.step_index = j.step_index AND later.attempt > j.attempt
                       AND later.attempt < $3)
                   ORDER BY j.step_index, o.path";
        let params = params![before.run, before.step_index, before.attempts_below];
        self.all(&tables::JOB_OUTPUTS, sql, params, output).await
    }

    /// Returns the newest output at a path by an older job of the same task.
    pub async fn output_previous(
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

/// Selects outputs with the step of their job.
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
