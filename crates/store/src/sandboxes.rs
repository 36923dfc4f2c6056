//! Handles on workspaces of tasks, and the commands that were run through them.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{JobId, NodeId, RunId, TaskId, UserId};

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// A handle on the workspace of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// The job that opened it, by whose id it is known.
    pub id: JobId,
    /// The task whose workspace it is.
    pub task: TaskId,
    /// For whom it was made.
    pub made_by: UserId,
    /// The node that has the workspace; read from the job.
    pub node: Option<NodeId>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it was given up.
    pub destroyed_at: Option<DateTime<Utc>>,
}

/// How many commands were run in a run's workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExecCounts {
    /// The highest number that one has.
    pub highest: u32,
    /// How many have not ended.
    pub open: u32,
}

/// Handles on workspaces. One that was given up stays so.
#[async_trait]
pub trait SandboxStore {
    /// Adds a handle unless there is one with its id; true if it was added.
    async fn sandbox_insert(&mut self, sandbox: &Sandbox) -> Result<bool, Error>;
    /// The handle with this id.
    async fn sandbox_get(&mut self, id: JobId) -> Result<Option<Sandbox>, Error>;
    /// How many handles of a task are in use.
    async fn sandbox_count(&mut self, task: TaskId) -> Result<i64, Error>;
    /// Gives a handle up; false if it is given up already.
    async fn sandbox_destroy(&mut self, id: JobId) -> Result<bool, Error>;
    /// Notes that a job was made through a handle.
    async fn exec_insert(
        &mut self,
        job: JobId,
        sandbox: JobId,
        key: Option<&str>,
    ) -> Result<(), Error>;
    /// The job that was made through a handle with this key.
    async fn exec_by_key(&mut self, sandbox: JobId, key: &str) -> Result<Option<JobId>, Error>;
    /// The newest jobs that were made through a handle, newest first.
    async fn exec_list(&mut self, sandbox: JobId, limit: u32) -> Result<Vec<JobId>, Error>;
    /// How many jobs a run has at this step, which is the one that stands for commands.
    async fn exec_counts(&mut self, run: RunId, step_index: u32) -> Result<ExecCounts, Error>;
}

pub(crate) const SANDBOX: &str =
    "SELECT s.*, j.node_id FROM sandboxes s JOIN jobs j ON j.id = s.id";

#[async_trait]
impl SandboxStore for Tx {
    async fn sandbox_insert(&mut self, sandbox: &Sandbox) -> Result<bool, Error> {
        let sql = "INSERT INTO sandboxes (id, task_id, made_by, created_at)
                   VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING";
        let params = params![sandbox.id, sandbox.task, sandbox.made_by, sandbox.created_at];
        Ok(self.execute(sql, params).await? == 1)
    }

    async fn sandbox_get(&mut self, id: JobId) -> Result<Option<Sandbox>, Error> {
        let sql = format!("{SANDBOX} WHERE s.id = $1");
        self.one(&tables::SANDBOXES, &sql, params![id], sandbox).await
    }

    async fn sandbox_count(&mut self, task: TaskId) -> Result<i64, Error> {
        let sql = "SELECT count(*) AS n FROM sandboxes
                   WHERE task_id = $1 AND destroyed_at IS NULL";
        self.row(sql, params![task]).await?.map_or(Ok(0), |row| row.get("n"))
    }

    async fn sandbox_destroy(&mut self, id: JobId) -> Result<bool, Error> {
        let sql = "UPDATE sandboxes SET destroyed_at = cynode_now()
                   WHERE id = $1 AND destroyed_at IS NULL";
        Ok(self.execute(sql, params![id]).await? == 1)
    }

    async fn exec_insert(
        &mut self,
        job: JobId,
        sandbox: JobId,
        key: Option<&str>,
    ) -> Result<(), Error> {
        let sql = "INSERT INTO sandbox_execs (job_id, sandbox_id, idempotency_key)
                   VALUES ($1, $2, $3)";
        self.execute(sql, params![job, sandbox, key.map(str::to_owned)]).await.map(drop)
    }

    async fn exec_by_key(&mut self, sandbox: JobId, key: &str) -> Result<Option<JobId>, Error> {
        let sql = "SELECT job_id FROM sandbox_execs
                   WHERE sandbox_id = $1 AND idempotency_key = $2";
        self.row(sql, params![sandbox, key]).await?.map(|row| row.id("job_id")).transpose()
    }

    async fn exec_list(&mut self, sandbox: JobId, limit: u32) -> Result<Vec<JobId>, Error> {
        let sql = "SELECT job_id FROM sandbox_execs WHERE sandbox_id = $1
                   ORDER BY job_id DESC LIMIT $2";
        let rows = self.rows(sql, params![sandbox, limit]).await?;
        rows.iter().map(|row| row.id("job_id")).collect()
    }

    async fn exec_counts(&mut self, run: RunId, step_index: u32) -> Result<ExecCounts, Error> {
        let sql = "SELECT coalesce(max(attempt), 0) AS highest,
                   coalesce(sum(CASE WHEN closed THEN 0 ELSE 1 END), 0) AS open_now
                   FROM jobs WHERE run_id = $1 AND step_index = $2";
        let Some(row) = self.row(sql, params![run, step_index]).await? else {
            return Ok(ExecCounts::default());
        };
        Ok(ExecCounts { highest: row.count("highest")?, open: row.count("open_now")? })
    }
}

pub(crate) fn sandbox(row: &Row) -> Result<Sandbox, Error> {
    Ok(Sandbox {
        id: row.id("id")?,
        task: row.id("task_id")?,
        made_by: row.id("made_by")?,
        node: row.id_opt("node_id")?,
        created_at: row.get("created_at")?,
        destroyed_at: row.get("destroyed_at")?,
    })
}
