//! Handles to the workspaces of tasks, and the commands executed through them.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{JobId, NodeId, RunId, TaskId, UserId};

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A handle to the workspace of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sandbox {
    /// The id of the job that created it.
    pub id: JobId,
    /// The task that owns the workspace.
    pub task: TaskId,
    /// The user it was created for.
    pub created_by: UserId,
    /// The worker node that has the workspace; read from the job.
    pub node: Option<NodeId>,
    pub created_at: DateTime<Utc>,
    pub destroyed_at: Option<DateTime<Utc>>,
}

/// Counts of the commands executed in a run's workspace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExecCounts {
    /// The highest command number.
    pub highest: u32,
    /// Commands that have not ended.
    pub open: u32,
}

pub(crate) const SANDBOX: &str =
    "SELECT s.*, j.node_id FROM sandboxes s JOIN jobs j ON j.id = s.id";

/// Workspace handles. A destroyed handle is never reopened.
impl Tx {
    /// Adds a handle unless its id exists; returns true if it was added.
    pub async fn sandbox_insert(&mut self, sandbox: &Sandbox) -> Result<bool, Error> {
        let sql = "INSERT INTO sandboxes (id, task_id, made_by, created_at)
                   VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING";
        let params = params![sandbox.id, sandbox.task, sandbox.created_by, sandbox.created_at];
        Ok(self.execute(sql, params).await? == 1)
    }

    pub async fn sandbox_get(&mut self, id: JobId) -> Result<Option<Sandbox>, Error> {
        let sql = format!("{SANDBOX} WHERE s.id = $1");
        self.one(&tables::SANDBOXES, &sql, params![id], sandbox).await
    }

    /// Counts the open handles of a task.
    pub async fn sandbox_count(&mut self, task: TaskId) -> Result<i64, Error> {
        let sql = "SELECT count(*) AS n FROM sandboxes
                   WHERE task_id = $1 AND destroyed_at IS NULL";
        self.row(sql, params![task]).await?.map_or(Ok(0), |row| row.get("n"))
    }

    /// Destroys a handle; returns false if it already is.
    pub async fn sandbox_destroy(&mut self, id: JobId) -> Result<bool, Error> {
        let sql = "UPDATE sandboxes SET destroyed_at = cynode_now()
                   WHERE id = $1 AND destroyed_at IS NULL";
        Ok(self.execute(sql, params![id]).await? == 1)
    }

    /// Records that a job was created through a handle.
    pub async fn exec_insert(
        &mut self,
        job: JobId,
        sandbox: JobId,
        key: Option<&str>,
    ) -> Result<(), Error> {
        let sql = "INSERT INTO sandbox_execs (job_id, sandbox_id, idempotency_key)
                   VALUES ($1, $2, $3)";
        self.execute(sql, params![job, sandbox, key.map(str::to_owned)]).await.map(drop)
    }

    /// Returns the job that was created through a handle with this key.
    pub async fn exec_by_key(&mut self, sandbox: JobId, key: &str) -> Result<Option<JobId>, Error> {
        let sql = "SELECT job_id FROM sandbox_execs
                   WHERE sandbox_id = $1 AND idempotency_key = $2";
        self.row(sql, params![sandbox, key]).await?.map(|row| row.id("job_id")).transpose()
    }

    /// Lists the newest jobs that were created through a handle, newest first.
    pub async fn exec_list(&mut self, sandbox: JobId, limit: u32) -> Result<Vec<JobId>, Error> {
        let sql = "SELECT job_id FROM sandbox_execs WHERE sandbox_id = $1
                   ORDER BY job_id DESC LIMIT $2";
        let rows = self.rows(sql, params![sandbox, limit]).await?;
        rows.iter().map(|row| row.id("job_id")).collect()
    }

    /// Whether something besides the steps of a run could have changed its workspace: a job at or above `exec_step`, an attempt at
    /// or above `first_check`, or a handle to the workspace of its task.
    pub async fn run_has_other_commands(
        &mut self,
        (run, task): (RunId, TaskId),
        exec_step: u32,
        first_check: u32,
    ) -> Result<bool, Error> {
        let sql = "SELECT (SELECT count(*) FROM jobs
                           WHERE run_id = $1 AND (step_index >= $2 OR attempt >= $3))
                   + (SELECT count(*) FROM sandboxes WHERE task_id = $4) AS others";
        let row = self.row(sql, params![run, exec_step, first_check, task]).await?;
        Ok(row.map(|row| row.count("others")).transpose()?.is_some_and(|others| others > 0))
    }

    /// Counts the jobs of a run at the step that is reserved for commands.
    pub async fn exec_counts(&mut self, run: RunId, step_index: u32) -> Result<ExecCounts, Error> {
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
        created_by: row.id("made_by")?,
        node: row.id_opt("node_id")?,
        created_at: row.get("created_at")?,
        destroyed_at: row.get("destroyed_at")?,
    })
}
