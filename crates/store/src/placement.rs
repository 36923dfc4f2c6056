//! Placement of jobs on worker nodes.

use cynode_domain::ids::{JobId, NodeId, TaskId};

use crate::{Error, Job, Tx};
use cynode_sql::params;

/// Placement of jobs. All jobs of a task share a workspace, so they share a node.
impl Tx {
    /// Blocks the assignment of a job for `wait_ms` while its placement is decided.
    pub async fn job_defer_assignment(&mut self, id: JobId, wait_ms: u32) -> Result<(), Error> {
        let sql = "UPDATE jobs SET place_until = cynode_after($2)
                   WHERE id = $1 AND node_id IS NULL AND NOT closed";
        self.execute(sql, params![id, wait_ms]).await.map(drop)
    }

    /// Unblocks the assignment of a job.
    pub async fn job_allow_assignment(&mut self, id: JobId) -> Result<(), Error> {
        let sql = "UPDATE jobs SET place_until = NULL WHERE id = $1 AND node_id IS NULL";
        self.execute(sql, params![id]).await.map(drop)
    }

    /// Records who or what placed a job on its node.
    pub async fn job_record_placement(&mut self, id: JobId, by: &str) -> Result<(), Error> {
        let sql = "UPDATE jobs SET placed_by = $2 WHERE id = $1";
        self.execute(sql, params![id, by]).await.map(drop)
    }

    /// Returns who or what placed a job on its node; `None` if not recorded.
    pub async fn job_placement(&mut self, id: JobId) -> Result<Option<String>, Error> {
        let sql = "SELECT placed_by FROM jobs WHERE id = $1";
        self.row(sql, params![id]).await?.map_or(Ok(None), |row| row.get("placed_by"))
    }

    /// Returns the node of a task's newest assigned job, unless it never started; otherwise the node that an
    /// open job is pinned to.
    pub async fn task_node(&mut self, task: TaskId) -> Result<Option<NodeId>, Error> {
        let sql = "SELECT coalesce(node_id, pinned_node_id) AS its_node FROM jobs
                   WHERE task_id = $1 AND (NOT closed OR started_at IS NOT NULL)
                   AND coalesce(node_id, pinned_node_id) IS NOT NULL
                   ORDER BY CASE WHEN node_id IS NULL THEN 1 ELSE 0 END, id DESC LIMIT 1";
        self.row(sql, params![task]).await?.map(|row| row.id("its_node")).transpose()
    }

    /// Whether another job of the same task, or with `of_run` of the same run, has completed on the job's node.
    pub async fn job_has_workspace(&mut self, job: &Job, of_run: bool) -> Result<bool, Error> {
        let sql = "SELECT 1 AS one FROM jobs WHERE task_id = $1 AND node_id = $2 AND id <> $3
                   AND status = 'completed' AND (run_id = $4 OR NOT $5) LIMIT 1";
        let spec = &job.spec;
        let params = params![spec.task, job.node, spec.id, spec.run, of_run];
        Ok(self.row(sql, params).await?.is_some())
    }

    /// Returns those of the tasks that were closed at least this many seconds ago.
    pub async fn tasks_closed_for(
        &mut self,
        tasks: &[TaskId],
        seconds: u32,
    ) -> Result<Vec<TaskId>, Error> {
        let sql = "SELECT id FROM tasks WHERE id = $1 AND closed
                   AND ended_at <= cynode_after($2)";
        let age_ms = -i64::from(seconds) * 1000;
        let mut closed = vec![];
        for task in tasks {
            if self.row(sql, params![*task, age_ms]).await?.is_some() {
                closed.push(*task);
            }
        }
        Ok(closed)
    }

    /// Whether a task has an open job.
    pub async fn task_has_open_job(&mut self, task: TaskId) -> Result<bool, Error> {
        let sql = "SELECT 1 AS one FROM jobs WHERE task_id = $1 AND NOT closed LIMIT 1";
        Ok(self.row(sql, params![task]).await?.is_some())
    }

    /// Pins the unassigned open jobs of a task to this node. Rows locked by others are skipped.
    pub async fn task_pin_jobs(&mut self, task: TaskId, node: NodeId) -> Result<(), Error> {
        let sql = "UPDATE jobs SET pinned_node_id = $2, place_until = NULL
                   WHERE id IN (SELECT id FROM jobs WHERE task_id = $1 AND node_id IS NULL
                       AND pinned_node_id IS NULL AND NOT closed
                       /*pg FOR NO KEY UPDATE SKIP LOCKED */)";
        self.execute(sql, params![task, node]).await.map(drop)
    }

    /// Unpins the waiting jobs of a task of which no job has started. Rows locked by others are skipped.
    pub async fn task_unpin_jobs(&mut self, task: TaskId) -> Result<(), Error> {
        let sql = "UPDATE jobs SET pinned_node_id = NULL
                   WHERE id IN (SELECT id FROM jobs WHERE task_id = $1 AND node_id IS NULL
                       AND pinned_node_id IS NOT NULL AND NOT closed
                       /*pg FOR NO KEY UPDATE SKIP LOCKED */)
                   AND NOT EXISTS (SELECT 1 FROM jobs b
                       WHERE b.task_id = $1 AND b.started_at IS NOT NULL)";
        self.execute(sql, params![task]).await.map(drop)
    }

    /// Blocks the creation of jobs for a task until the transaction ends.
    pub async fn task_lock_jobs(&mut self, task: TaskId) -> Result<(), Error> {
        // A transaction that creates a job holds the lock on the lease of its task.
        let sql = "SELECT task_id FROM task_workflow_leases WHERE task_id = $1 /*pg FOR UPDATE */";
        self.rows(sql, params![task]).await.map(drop)
    }
}
