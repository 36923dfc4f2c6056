//! Jobs and their leases.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{IncarnationId, JobId, NodeId, RunId, TaskId, UserId};
use cynode_domain::status::JobStatus;
use serde_json::Value;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A step attempt to be executed on a worker node.
#[derive(Debug, Clone, PartialEq)]
pub struct NewJob {
    pub id: JobId,
    pub task: TaskId,
    pub run: RunId,
    /// The step of the plan, from 0.
    pub step_index: u32,
    /// The attempt at that step, from 1.
    pub attempt: u32,
    /// The worker node that has the task's workspace.
    pub pinned_node: Option<NodeId>,
    /// The commands to execute.
    pub payload: Value,
}

/// A job with its state.
#[derive(Debug, Clone, PartialEq)]
pub struct Job {
    pub spec: NewJob,
    pub status: JobStatus,
    /// The worker node it is assigned to.
    pub node: Option<NodeId>,
    /// The process of that node that holds the lease, once the job was dispatched.
    pub incarnation: Option<IncarnationId>,
    pub result: Option<Value>,
    /// Whether its node must stop it.
    pub cancel_requested: bool,
    /// Its ending once its node has stopped it, if the orchestrator has a reason of its own.
    pub stop_ending: Option<Value>,
    /// Whether its node has acknowledged it.
    pub acknowledged: bool,
    /// The deadline until which a pending placement decision blocks assignment.
    pub placement_deadline: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    /// When its node fetched it.
    pub started_at: Option<DateTime<Utc>>,
    pub ended_at: Option<DateTime<Utc>>,
}

/// A user for whom unassigned jobs are open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingUser {
    pub id: UserId,
    /// Open jobs on nodes that accept jobs, and those whose node is being chosen.
    pub running: i64,
    /// Whether there are other active users.
    pub has_others: bool,
}

/// Jobs, their leases and their output. A closed job is immutable, except that the late result of a job with an
/// expired lease is added once.
impl Tx {
    /// Adds a job unless one exists for its (run, step, attempt). Returns the stored job, and whether it is
    /// new.
    pub async fn job_insert(&mut self, job: &NewJob) -> Result<(JobId, bool), Error> {
        let sql = "INSERT INTO jobs (id, task_id, run_id, step_index, attempt, status, closed,
                   pinned_node_id, payload, cancel_requested, acknowledged, created_at, owner_id)
                   VALUES ($1, $2, $3, $4, $5, 'queued', $8, $6, $7, $8, $8, cynode_now(),
                       (SELECT created_by FROM tasks WHERE id = $2))
                   ON CONFLICT (run_id, step_index, attempt) DO NOTHING";
        let params = params![
            job.id,
            job.task,
            job.run,
            job.step_index,
            job.attempt,
            job.pinned_node,
            &job.payload,
            false,
        ];
        if self.execute(sql, params).await? == 1 {
            return Ok((job.id, true));
        }
        let sql = "SELECT id FROM jobs WHERE run_id = $1 AND step_index = $2 AND attempt = $3";
        let row = self.row(sql, params![job.run, job.step_index, job.attempt]).await?;
        row.map_or(Ok((job.id, false)), |row| Ok((row.id("id")?, false)))
    }

    pub async fn job_get(&mut self, id: JobId) -> Result<Option<Job>, Error> {
        let sql = "SELECT * FROM jobs WHERE id = $1";
        self.one(&tables::JOBS, sql, params![id], job).await
    }

    /// Returns the job, locked until the transaction ends.
    pub async fn job_lock(&mut self, id: JobId) -> Result<Option<Job>, Error> {
        let sql = "SELECT * FROM jobs WHERE id = $1 /*pg FOR NO KEY UPDATE */";
        self.one(&tables::JOBS, sql, params![id], job).await
    }

    /// Lists every job of a task, oldest first, with payload and result. Use a narrower query where one exists.
    pub async fn job_list(&mut self, task: TaskId) -> Result<Vec<Job>, Error> {
        let sql = "SELECT * FROM jobs WHERE task_id = $1 ORDER BY id";
        self.list(&tables::JOBS, sql, params![task], job).await
    }

    /// Lists the jobs of a task at steps before this one, oldest first.
    pub async fn job_list_before(
        &mut self,
        task: TaskId,
        step_index: u32,
    ) -> Result<Vec<Job>, Error> {
        let sql = "SELECT * FROM jobs WHERE task_id = $1 AND step_index < $2 ORDER BY id";
        self.all(&tables::JOBS, sql, params![task, step_index], job).await
    }

    /// Lists the jobs of a run at this step, oldest first.
    pub async fn job_list_step(&mut self, run: RunId, step_index: u32) -> Result<Vec<Job>, Error> {
        let sql = "SELECT * FROM jobs WHERE run_id = $1 AND step_index = $2 ORDER BY id";
        self.all(&tables::JOBS, sql, params![run, step_index], job).await
    }

    /// Lists the open jobs of a task, oldest first.
    pub async fn job_list_open(&mut self, task: TaskId) -> Result<Vec<Job>, Error> {
        let sql = "SELECT * FROM jobs WHERE task_id = $1 AND NOT closed ORDER BY id";
        self.list(&tables::JOBS, sql, params![task], job).await
    }

    /// Lists the users for whom unassigned jobs are open. The work depends on the number of users, not of jobs.
    pub async fn job_list_waiting_users(&mut self) -> Result<Vec<WaitingUser>, Error> {
        let sql = "WITH RECURSIVE waiting(id) AS (
                   SELECT (SELECT owner_id FROM jobs WHERE NOT closed AND node_id IS NULL
                       ORDER BY owner_id LIMIT 1)
                   UNION ALL SELECT (SELECT j.owner_id FROM jobs j WHERE NOT j.closed AND j.node_id IS NULL
                       AND j.owner_id > w.id ORDER BY j.owner_id LIMIT 1)
                   FROM waiting w WHERE w.id IS NOT NULL)
                   SELECT w.id, (SELECT count(*) FROM jobs j WHERE j.owner_id = w.id AND NOT j.closed
                       AND (j.place_until > cynode_now() OR j.node_id IN (SELECT n.id FROM nodes n
                           WHERE n.status = 'active' AND n.sandbox_supported))) AS running,
                   EXISTS (SELECT 1 FROM users u WHERE u.is_active AND u.id <> w.id) AS has_others
                   FROM waiting w WHERE w.id IS NOT NULL";
        let user = |row: &Row| {
            let (running, has_others) = (row.get("running")?, row.get("has_others")?);
            Ok(WaitingUser { id: row.id("id")?, running, has_others })
        };
        self.rows(sql, &[]).await?.iter().map(user).collect()
    }

    /// Lists open jobs of a user that can be assigned, after `after`, oldest first; locked, rows locked by others are skipped. Excluded
    /// are jobs whose placement is being decided, and jobs pinned to a node that accepts none now. Of a task's
    /// unpinned jobs only the oldest is listed: the others follow it.
    pub async fn job_list_unassigned(
        &mut self,
        user: UserId,
        after: Option<JobId>,
        limit: u32,
    ) -> Result<Vec<Job>, Error> {
        let sql =
            "SELECT * FROM jobs j WHERE j.owner_id = $1 AND j.node_id IS NULL AND NOT j.closed
                   AND ($2 /*pg ::uuid */ IS NULL OR j.id > $2)
                   AND (j.place_until IS NULL OR j.place_until <= cynode_now())
                   AND (j.pinned_node_id IS NULL OR j.pinned_node_id IN (
                       SELECT n.id FROM nodes n WHERE n.status = 'active' AND n.sandbox_supported
                       AND n.max_concurrency > (SELECT count(*) FROM jobs o
                           WHERE o.node_id = n.id AND NOT o.closed)))
                   AND (j.pinned_node_id IS NOT NULL OR NOT EXISTS (
                       SELECT 1 FROM jobs o WHERE o.task_id = j.task_id AND o.id < j.id
                       AND NOT o.closed AND o.node_id IS NULL AND o.pinned_node_id IS NULL))
                   ORDER BY j.id LIMIT $3 /*pg FOR NO KEY UPDATE SKIP LOCKED */";
        self.page(&tables::JOBS, sql, params![user, after, limit], job).await
    }

    /// Lists unassigned open jobs created before this time and pinned to a node that accepts no jobs, has not
    /// polled since, or has no sandbox support; oldest first, locked, rows locked by others are skipped.
    pub async fn job_list_stranded(
        &mut self,
        before: DateTime<Utc>,
        limit: u32,
    ) -> Result<Vec<Job>, Error> {
        let sql = "SELECT * FROM jobs WHERE node_id IS NULL AND NOT closed AND created_at < $1
                   AND pinned_node_id IN (SELECT id FROM nodes
                       WHERE status = 'drained' OR NOT sandbox_supported
                       OR last_seen_at IS NULL OR last_seen_at < $1)
                   ORDER BY id LIMIT $2 /*pg FOR NO KEY UPDATE SKIP LOCKED */";
        self.page(&tables::JOBS, sql, params![before, limit], job).await
    }

    /// Lists the open jobs of a node, oldest first.
    pub async fn job_list_of_node(&mut self, node: NodeId) -> Result<Vec<Job>, Error> {
        let sql = "SELECT * FROM jobs WHERE node_id = $1 AND NOT closed ORDER BY id";
        self.list(&tables::JOBS, sql, params![node], job).await
    }

    /// Replaces the payload of a job that has no node.
    pub async fn job_set_payload(&mut self, id: JobId, payload: &Value) -> Result<(), Error> {
        let sql = "UPDATE jobs SET payload = $2 WHERE id = $1 AND node_id IS NULL AND NOT closed";
        self.execute(sql, params![id, payload]).await.map(drop)
    }

    /// Assigns a queued job to a node.
    pub async fn job_assign(&mut self, id: JobId, node: NodeId) -> Result<(), Error> {
        let sql =
            "UPDATE jobs SET node_id = $2, place_until = NULL WHERE id = $1 AND status = 'queued'";
        self.execute(sql, params![id, node]).await.map(drop)
    }

    /// Unassigns queued jobs of nodes that are not active or have not polled for `silent_ms`. Returns the task
    /// of each.
    pub async fn job_unassign_silent(&mut self, silent_ms: i64) -> Result<Vec<TaskId>, Error> {
        let sql = "UPDATE jobs SET node_id = NULL WHERE status = 'queued' AND NOT closed
                   AND node_id IN (SELECT id FROM nodes
                       WHERE status <> 'active' OR last_seen_at IS NULL
                       OR last_seen_at < cynode_after($1))
                   RETURNING task_id";
        let rows = self.rows(sql, params![-silent_ms]).await?;
        rows.iter().map(|row| row.id("task_id")).collect()
    }

    /// Starts a queued job of a node in this process of the node, under a lease; returns false if it is not queued there
    /// any more.
    pub async fn job_start(
        &mut self,
        id: JobId,
        node: NodeId,
        process: IncarnationId,
        lease_ms: u32,
    ) -> Result<bool, Error> {
        let sql = "UPDATE jobs SET status = 'running', started_at = cynode_now(),
                   lease_expires_at = cynode_after($2), incarnation_id = $3
                   WHERE id = $1 AND node_id = $4 AND status = 'queued' AND NOT closed";
        Ok(self.execute(sql, params![id, lease_ms, process, node]).await? == 1)
    }

    /// Extends the lease of a job held by this process of a node; returns false if it holds no such open job.
    pub async fn job_renew(
        &mut self,
        id: JobId,
        node: NodeId,
        process: IncarnationId,
        lease_ms: u32,
    ) -> Result<bool, Error> {
        let sql = "UPDATE jobs SET lease_expires_at = cynode_after($3), acknowledged = $4
                   WHERE id = $1 AND incarnation_id = $2 AND node_id = $5 AND NOT closed";
        Ok(self.execute(sql, params![id, process, lease_ms, true, node]).await? == 1)
    }

    /// Transfers the jobs of a node from one process to its successor; without a process, running jobs that
    /// were dispatched before processes had ids.
    pub async fn job_adopt(
        &mut self,
        node: NodeId,
        from: Option<IncarnationId>,
        to: IncarnationId,
    ) -> Result<u64, Error> {
        let Some(from) = from else {
            let sql = "UPDATE jobs SET incarnation_id = $2 WHERE node_id = $1 AND NOT closed
                       AND status = 'running' AND incarnation_id IS NULL";
            return self.execute(sql, params![node, to]).await;
        };
        let sql = "UPDATE jobs SET incarnation_id = $3 WHERE node_id = $1 AND incarnation_id = $2
                   AND (NOT closed OR status = 'lease_expired')";
        self.execute(sql, params![node, from, to]).await
    }

    /// Extends the lease of every running job to at least `lease_ms`: nodes could not renew while the
    /// orchestrator was down. Nor could agents show signs of life.
    pub async fn job_renew_all(&mut self, lease_ms: u32) -> Result<u64, Error> {
        let sql = "UPDATE jobs SET last_sign_at = cynode_now() WHERE id IN (
                     SELECT id FROM jobs WHERE last_sign_at IS NOT NULL AND NOT closed
                     /*pg FOR NO KEY UPDATE SKIP LOCKED */)";
        self.execute(sql, &[]).await?;
        // A transaction that has locked a row renews or closes that job itself.
        let sql = "UPDATE jobs SET lease_expires_at = cynode_after($1) WHERE id IN (
                     SELECT id FROM jobs WHERE status = 'running' AND NOT closed
                       AND lease_expires_at < cynode_after($1)
                     /*pg FOR NO KEY UPDATE SKIP LOCKED */)";
        self.execute(sql, params![lease_ms]).await
    }

    /// Lists running jobs whose lease has expired.
    pub async fn job_list_expired(&mut self) -> Result<Vec<Job>, Error> {
        let sql = "SELECT * FROM jobs WHERE status = 'running' AND NOT closed
                   AND lease_expires_at <= cynode_now()
                   ORDER BY id /*pg FOR NO KEY UPDATE SKIP LOCKED */";
        self.list(&tables::JOBS, sql, &[], job).await
    }

    /// Closes an open job; returns false if it is closed.
    pub async fn job_close(
        &mut self,
        id: JobId,
        status: JobStatus,
        result: Option<&Value>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE jobs SET status = $2, closed = $3, result = $4,
                   lease_expires_at = NULL, ended_at = cynode_now()
                   WHERE id = $1 AND NOT closed";
        Ok(self.execute(sql, params![id, status, true, result]).await? == 1)
    }

    /// Adds the result of a job that its process reports after the lease expired. Returns false for any other
    /// job.
    pub async fn job_add_late_result(
        &mut self,
        id: JobId,
        process: IncarnationId,
        status: JobStatus,
        result: &Value,
    ) -> Result<bool, Error> {
        let sql = "UPDATE jobs SET status = $3, result = $4
                   WHERE id = $1 AND incarnation_id = $2 AND status = 'lease_expired'";
        Ok(self.execute(sql, params![id, process, status, result]).await? == 1)
    }

    /// Requests that the node of a running job stops it.
    pub async fn job_request_cancel(&mut self, id: JobId) -> Result<(), Error> {
        let sql = "UPDATE jobs SET cancel_requested = $2 WHERE id = $1 AND NOT closed";
        self.execute(sql, params![id, true]).await.map(drop)
    }

    /// Requests that the node of a running job stops it, and records how the job has ended then. The first reason counts.
    pub async fn job_request_stop(&mut self, id: JobId, ending: &Value) -> Result<bool, Error> {
        let sql = "UPDATE jobs SET cancel_requested = $2, stop_ending = $3
                   WHERE id = $1 AND NOT closed AND status = 'running' AND NOT cancel_requested";
        Ok(self.execute(sql, params![id, true, ending]).await? == 1)
    }

    /// Expects signs of life of a job's agent from now on.
    pub async fn job_expect_signs(&mut self, id: JobId) -> Result<(), Error> {
        let sql = "UPDATE jobs SET last_sign_at = cynode_now() WHERE id = $1 AND NOT closed";
        self.execute(sql, params![id]).await.map(drop)
    }

    /// Records a sign of life, if one is expected.
    pub async fn job_record_sign(&mut self, id: JobId) -> Result<(), Error> {
        let sql = "UPDATE jobs SET last_sign_at = cynode_now()
                   WHERE id = $1 AND NOT closed AND last_sign_at IS NOT NULL";
        self.execute(sql, params![id]).await.map(drop)
    }

    /// Lists running jobs whose agents gave no sign of life for `silent_ms`. A paused agent does not count as silent until
    /// it has an instruction to continue.
    pub async fn job_list_silent(&mut self, silent_ms: i64, limit: u32) -> Result<Vec<Job>, Error> {
        let sql = "SELECT * FROM jobs WHERE last_sign_at IS NOT NULL AND NOT closed
                   AND status = 'running' AND NOT cancel_requested
                   AND last_sign_at < cynode_after($1)
                   AND NOT EXISTS (SELECT 1 FROM task_agents a
                       WHERE a.task_id = jobs.task_id AND a.job_id = jobs.id AND NOT a.closed
                       AND a.status = 'paused' AND NOT EXISTS (
                           SELECT 1 FROM agent_messages m WHERE m.task_id = a.task_id
                           AND m.recipient = a.role AND m.kind = 'instruction'
                           AND m.subtype <> 'pause' AND m.delivered_at IS NULL))
                   ORDER BY last_sign_at LIMIT $2";
        self.page(&tables::JOBS, sql, params![-silent_ms, limit], job).await
    }
}

pub(crate) fn job(row: &Row) -> Result<Job, Error> {
    Ok(Job {
        spec: NewJob {
            id: row.id("id")?,
            task: row.id("task_id")?,
            run: row.id("run_id")?,
            step_index: row.count("step_index")?,
            attempt: row.count("attempt")?,
            pinned_node: row.id_opt("pinned_node_id")?,
            payload: row.get("payload")?,
        },
        status: row.keyword("status")?,
        node: row.id_opt("node_id")?,
        incarnation: row.id_opt("incarnation_id")?,
        result: row.get("result")?,
        cancel_requested: row.get("cancel_requested")?,
        stop_ending: row.get("stop_ending")?,
        acknowledged: row.get("acknowledged")?,
        placement_deadline: row.get("place_until")?,
        created_at: row.get("created_at")?,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
    })
}
