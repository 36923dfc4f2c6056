//! Where jobs wait to be given a place, and where their task is.

use async_trait::async_trait;
use cynode_domain::ids::{JobId, NodeId, TaskId};

use crate::param::params;
use crate::{Error, Job, Tx};

/// Where jobs wait to be given a place. All jobs of a task share a workspace, so they share a node.
#[async_trait]
pub trait PlacementStore {
    /// A job without a node is left alone for `wait_ms`: somebody is asked where it belongs.
    async fn job_await_placement(&mut self, id: JobId, wait_ms: u32) -> Result<(), Error>;
    /// Nobody is asked any longer where a job without a node belongs.
    async fn job_end_placement(&mut self, id: JobId) -> Result<(), Error>;
    /// Records by what a job was given to its node, in words.
    async fn job_record_placement(&mut self, id: JobId, by: &str) -> Result<(), Error>;
    /// By what a job was given to its node; none if that is not on record.
    async fn job_placement(&mut self, id: JobId) -> Result<Option<String>, Error>;
    /// The node that a task's newest job with a node was given to, unless that never began; else the
    /// one that an open job of it is pinned to.
    async fn task_node(&mut self, task: TaskId) -> Result<Option<NodeId>, Error>;
    /// Whether another job of this job's task has completed on its node: any, or one of its run only.
    async fn job_has_workspace(&mut self, job: &Job, of_run: bool) -> Result<bool, Error>;
    /// Those of the tasks that have been closed for at least so many seconds.
    async fn tasks_closed_for(
        &mut self,
        tasks: &[TaskId],
        seconds: u32,
    ) -> Result<Vec<TaskId>, Error>;
    /// Whether a job of a task is open.
    async fn task_has_open_job(&mut self, task: TaskId) -> Result<bool, Error>;
    /// Open jobs of a task that have no node yet belong to this one from now on. Those that somebody
    /// else has locked are left as they are.
    async fn task_gather(&mut self, task: TaskId, node: NodeId) -> Result<(), Error>;
    /// Waiting jobs of a task of which none has begun are pinned nowhere any longer. Those that
    /// somebody else has locked are left as they are.
    async fn task_scatter(&mut self, task: TaskId) -> Result<(), Error>;
    /// Keeps others from making a job of a task until the transaction ends.
    async fn task_lock_jobs(&mut self, task: TaskId) -> Result<(), Error>;
    /// The node that an open job of a task has to wait for, because it is pinned to it.
    async fn task_awaited_node(&mut self, task: TaskId) -> Result<Option<NodeId>, Error>;
}

#[async_trait]
impl PlacementStore for Tx {
    async fn job_await_placement(&mut self, id: JobId, wait_ms: u32) -> Result<(), Error> {
        let sql = "UPDATE jobs SET place_until = cynode_after($2)
                   WHERE id = $1 AND node_id IS NULL AND NOT closed";
        self.execute(sql, params![id, wait_ms]).await.map(drop)
    }

    async fn job_end_placement(&mut self, id: JobId) -> Result<(), Error> {
        let sql = "UPDATE jobs SET place_until = NULL WHERE id = $1 AND node_id IS NULL";
        self.execute(sql, params![id]).await.map(drop)
    }

    async fn job_record_placement(&mut self, id: JobId, by: &str) -> Result<(), Error> {
        let sql = "UPDATE jobs SET placed_by = $2 WHERE id = $1";
        self.execute(sql, params![id, by]).await.map(drop)
    }

    async fn job_placement(&mut self, id: JobId) -> Result<Option<String>, Error> {
        let sql = "SELECT placed_by FROM jobs WHERE id = $1";
        self.row(sql, params![id]).await?.map_or(Ok(None), |row| row.get("placed_by"))
    }

    async fn task_node(&mut self, task: TaskId) -> Result<Option<NodeId>, Error> {
        let sql = "SELECT coalesce(node_id, pinned_node_id) AS its_node FROM jobs
                   WHERE task_id = $1 AND (NOT closed OR started_at IS NOT NULL)
                   AND coalesce(node_id, pinned_node_id) IS NOT NULL
                   ORDER BY CASE WHEN node_id IS NULL THEN 1 ELSE 0 END, id DESC LIMIT 1";
        self.row(sql, params![task]).await?.map(|row| row.id("its_node")).transpose()
    }

    async fn job_has_workspace(&mut self, job: &Job, of_run: bool) -> Result<bool, Error> {
        let sql = "SELECT 1 AS one FROM jobs WHERE task_id = $1 AND node_id = $2 AND id <> $3
                   AND status = 'completed' AND (run_id = $4 OR NOT $5) LIMIT 1";
        let asked = &job.asked;
        let params = params![asked.task, job.node, asked.id, asked.run, of_run];
        Ok(self.row(sql, params).await?.is_some())
    }

    async fn tasks_closed_for(
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

    async fn task_has_open_job(&mut self, task: TaskId) -> Result<bool, Error> {
        let sql = "SELECT 1 AS one FROM jobs WHERE task_id = $1 AND NOT closed LIMIT 1";
        Ok(self.row(sql, params![task]).await?.is_some())
    }

    async fn task_gather(&mut self, task: TaskId, node: NodeId) -> Result<(), Error> {
        let sql = "UPDATE jobs SET pinned_node_id = $2, place_until = NULL
                   WHERE id IN (SELECT id FROM jobs WHERE task_id = $1 AND node_id IS NULL
                       AND pinned_node_id IS NULL AND NOT closed
                       /*pg FOR NO KEY UPDATE SKIP LOCKED */)";
        self.execute(sql, params![task, node]).await.map(drop)
    }

    async fn task_scatter(&mut self, task: TaskId) -> Result<(), Error> {
        let sql = "UPDATE jobs SET pinned_node_id = NULL
                   WHERE id IN (SELECT id FROM jobs WHERE task_id = $1 AND node_id IS NULL
                       AND pinned_node_id IS NOT NULL AND NOT closed
                       /*pg FOR NO KEY UPDATE SKIP LOCKED */)
                   AND NOT EXISTS (SELECT 1 FROM jobs b
                       WHERE b.task_id = $1 AND b.started_at IS NOT NULL)";
        self.execute(sql, params![task]).await.map(drop)
    }

    async fn task_lock_jobs(&mut self, task: TaskId) -> Result<(), Error> {
        // Whoever hands out a step holds the lease of its task meanwhile.
        let sql = "SELECT task_id FROM task_workflow_leases WHERE task_id = $1 /*pg FOR UPDATE */";
        self.rows(sql, params![task]).await.map(drop)
    }

    async fn task_awaited_node(&mut self, task: TaskId) -> Result<Option<NodeId>, Error> {
        let sql = "SELECT pinned_node_id FROM jobs WHERE task_id = $1 AND node_id IS NULL
                   AND pinned_node_id IS NOT NULL AND NOT closed ORDER BY id LIMIT 1";
        self.row(sql, params![task]).await?.map(|row| row.id("pinned_node_id")).transpose()
    }
}
