//! What people do to runs: holding them, letting them go, and going on from an earlier row.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{LeaseId, RunId, TaskId, UserId};
use cynode_domain::run::RunVerb;
use serde_json::Value;
use uuid::Uuid;

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Run, Tx, WorkflowStore};

/// Something that somebody did to a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Act {
    /// The run.
    pub run: RunId,
    /// Its task.
    pub task: TaskId,
    /// After which transition; 0 before the first.
    pub sequence: i64,
    /// What.
    pub verb: RunVerb,
    /// Who.
    pub user: UserId,
    /// Who, as people call them.
    pub handle: String,
    /// Details, by verb.
    pub detail: Value,
    /// When it was recorded; given by the database.
    pub recorded_at: Option<DateTime<Utc>>,
}

/// A run that goes on from a row of another one.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// The new run.
    pub run: Run,
    /// The run it goes on from, and after which transition.
    pub parent: (RunId, i64),
    /// The version of the graph that drove it.
    pub graph_version: Option<u32>,
    /// The state and position it begins with; absent when it begins at the start.
    pub from: Option<Seed>,
}

/// The state that a run begins with.
#[derive(Debug, Clone, PartialEq)]
pub struct Seed {
    /// The node that was the last to complete.
    pub node: String,
    /// The edge taken out of it.
    pub edge: String,
    /// The whole state after it.
    pub state: Value,
}

/// What people do to runs. The task is locked before any of these is called.
#[async_trait]
pub trait SteerStore {
    /// Keeps runners from taking an open task; false if that is so already, or the task is closed.
    async fn task_pause(&mut self, task: TaskId) -> Result<bool, Error>;
    /// Lets runners take the task again; false if nobody kept them from it.
    async fn task_resume(&mut self, task: TaskId) -> Result<bool, Error>;
    /// Opens a failed or canceled task again, so that a new run of it can start; false if the task
    /// is neither.
    async fn task_reopen(&mut self, task: TaskId) -> Result<bool, Error>;
    /// Notes what a run waits for, from what is known about it: a pause, then an open question, then
    /// dependencies. Nothing of that makes it claimable.
    async fn run_await(&mut self, run: RunId) -> Result<(), Error>;
    /// Adds a run that goes on from a row of another one. Its history begins with that row, as its
    /// own first.
    async fn run_branch(&mut self, branch: &Branch) -> Result<(), Error>;
    /// Remembers what somebody did.
    async fn act_insert(&mut self, act: &Act) -> Result<(), Error>;
    /// What was done to a run after transitions `from` to `to`, in order.
    async fn act_list(&mut self, run: RunId, from: i64, to: i64) -> Result<Vec<Act>, Error>;
}

#[async_trait]
impl SteerStore for Tx {
    async fn task_pause(&mut self, task: TaskId) -> Result<bool, Error> {
        let sql = "UPDATE tasks SET paused_at = cynode_now(), updated_at = cynode_now()
                   WHERE id = $1 AND NOT closed AND paused_at IS NULL";
        Ok(self.execute(sql, params![task]).await? == 1)
    }

    async fn task_resume(&mut self, task: TaskId) -> Result<bool, Error> {
        let sql = "UPDATE tasks SET paused_at = NULL, updated_at = cynode_now()
                   WHERE id = $1 AND paused_at IS NOT NULL";
        Ok(self.execute(sql, params![task]).await? == 1)
    }

    async fn task_reopen(&mut self, task: TaskId) -> Result<bool, Error> {
        let sql =
            "UPDATE tasks SET status = 'pending', closed = $2, summary = NULL, verification = NULL,
                   ended_at = NULL, paused_at = NULL, updated_at = cynode_now()
                   WHERE id = $1 AND status IN ('failed', 'canceled')";
        Ok(self.execute(sql, params![task, false]).await? == 1)
    }

    async fn run_await(&mut self, run: RunId) -> Result<(), Error> {
        let sql = "UPDATE runs SET waits_for = CASE
                       WHEN EXISTS (SELECT 1 FROM tasks t
                           WHERE t.id = runs.task_id AND t.paused_at IS NOT NULL) THEN 'resume'
                       WHEN EXISTS (SELECT 1 FROM run_questions q
                           WHERE q.run_id = runs.id AND q.answered_at IS NULL) THEN 'answer'
                       WHEN EXISTS (SELECT 1 FROM task_dependencies d
                           JOIN tasks t ON t.id = d.depends_on_task_id
                           WHERE d.task_id = runs.task_id AND t.status <> 'completed')
                           THEN 'dependencies' END
                   WHERE id = $1 AND runnable";
        self.execute(sql, params![run]).await.map(drop)
    }

    async fn run_branch(&mut self, branch: &Branch) -> Result<(), Error> {
        let (run, (parent, sequence)) = (&branch.run, branch.parent);
        self.run_insert(run).await?;
        let sql = "UPDATE runs SET parent_run_id = $2, parent_sequence = $3, graph_version = $4
                   WHERE id = $1";
        self.execute(sql, params![run.id, parent, sequence, branch.graph_version]).await?;
        match &branch.from {
            Some(seed) => plant(self, run, seed).await,
            None => Ok(()),
        }
    }

    async fn act_insert(&mut self, act: &Act) -> Result<(), Error> {
        let sql = "INSERT INTO run_acts
                   (id, run_id, task_id, sequence, verb, user_id, handle, detail, recorded_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, cynode_now())";
        let params = params![
            Uuid::now_v7(),
            act.run,
            act.task,
            act.sequence,
            act.verb.as_str(),
            act.user,
            &act.handle,
            &act.detail,
        ];
        self.execute(sql, params).await.map(drop)
    }

    async fn act_list(&mut self, run: RunId, from: i64, to: i64) -> Result<Vec<Act>, Error> {
        let sql = "SELECT * FROM run_acts WHERE run_id = $1 AND sequence BETWEEN $2 AND $3
                   ORDER BY sequence, id LIMIT 1000";
        self.list(&tables::RUN_ACTS, sql, params![run, from, to], act).await
    }
}

/// Writes the first row of a run's history and the checkpoint it goes on from. A task that nobody
/// held before gets a lease that is free, so that the first grant counts as one that goes on.
async fn plant(tx: &mut Tx, run: &Run, seed: &Seed) -> Result<(), Error> {
    let sql = "INSERT INTO workflow_history (run_id, sequence, task_id, node_id, edge, state,
                   epoch, duration_ms, recorded_at)
               VALUES ($1, 1, $2, $3, $4, $5, 0, 0, cynode_now())";
    let params = params![run.id, run.task, &seed.node, &seed.edge, &seed.state];
    tx.execute(sql, params).await?;
    let sql = "INSERT INTO task_workflow_leases
               (id, task_id, run_id, lease_id, holder_id, epoch, expires_at, created_at, updated_at)
               VALUES ($1, $1, $2, $3, NULL, 1, NULL, cynode_now(), cynode_now())
               ON CONFLICT (task_id) DO NOTHING";
    tx.execute(sql, params![run.task, run.id, LeaseId::generate()]).await?;
    let sql = "INSERT INTO workflow_checkpoints
               (id, task_id, run_id, state, last_node_id, edge, sequence, base_sequence, epoch,
                updated_at)
               VALUES ($1, $1, $2, $3, $4, $5, 1, 1, 1, cynode_now())
               ON CONFLICT (task_id) DO UPDATE SET run_id = excluded.run_id,
                   state = excluded.state, last_node_id = excluded.last_node_id,
                   edge = excluded.edge, sequence = 1, base_sequence = 1,
                   updated_at = excluded.updated_at";
    let params = params![run.task, run.id, &seed.state, &seed.node, &seed.edge];
    tx.execute(sql, params).await.map(drop)
}

pub(crate) fn act(row: &Row) -> Result<Act, Error> {
    Ok(Act {
        run: row.id("run_id")?,
        task: row.id("task_id")?,
        sequence: row.get("sequence")?,
        verb: row.word("verb")?,
        user: row.id("user_id")?,
        handle: row.get("handle")?,
        detail: row.get("detail")?,
        recorded_at: row.get("recorded_at")?,
    })
}
