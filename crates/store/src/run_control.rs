//! Control of runs by people: pause, resume, and branch from an earlier transition.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{LeaseId, RunId, TaskId, UserId};
use cynode_domain::run::RunVerb;
use serde_json::Value;
use uuid::Uuid;

use crate::quarantine::tables;
use crate::{Error, Run, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// An action of a user on a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunAction {
    pub run: RunId,
    pub task: TaskId,
    /// The transition after which it happened; 0 before the first.
    pub sequence: i64,
    pub verb: RunVerb,
    pub user: UserId,
    /// The sign-in name of the user.
    pub handle: String,
    /// Details, depending on the verb.
    pub detail: Value,
    /// Set by the database.
    pub recorded_at: Option<DateTime<Utc>>,
}

/// A run that branches from a transition of another one.
#[derive(Debug, Clone, PartialEq)]
pub struct RunBranch {
    pub run: Run,
    /// The run it branches from, and the transition.
    pub parent: (RunId, i64),
    /// The version of the graph that drove the parent.
    pub graph_version: Option<u32>,
    /// The initial state and position; `None` if the run starts from the beginning.
    pub from: Option<BranchSeed>,
}

/// The initial state of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct BranchSeed {
    /// The last workflow node that completed.
    pub node: String,
    pub edge: String,
    /// The whole state after the node.
    pub state: Value,
}

/// Control of runs. The caller has locked the task.
impl Tx {
    /// Pauses an open task, so that no runner claims it; returns false if it is paused or closed.
    pub async fn task_pause(&mut self, task: TaskId) -> Result<bool, Error> {
        let sql = "UPDATE tasks SET paused_at = cynode_now(), updated_at = cynode_now()
                   WHERE id = $1 AND NOT closed AND paused_at IS NULL";
        Ok(self.execute(sql, params![task]).await? == 1)
    }

    /// Resumes a task, so that runners claim it again; returns false if it is not paused.
    pub async fn task_resume(&mut self, task: TaskId) -> Result<bool, Error> {
        let sql = "UPDATE tasks SET paused_at = NULL, updated_at = cynode_now()
                   WHERE id = $1 AND paused_at IS NOT NULL";
        Ok(self.execute(sql, params![task]).await? == 1)
    }

    /// Reopens a failed or canceled task, so that a new run of it can start; returns false for any other
    /// status.
    pub async fn task_reopen(&mut self, task: TaskId) -> Result<bool, Error> {
        let sql =
            "UPDATE tasks SET status = 'pending', closed = $2, summary = NULL, verification = NULL,
                   ended_at = NULL, paused_at = NULL, updated_at = cynode_now()
                   WHERE id = $1 AND status IN ('failed', 'canceled')";
        Ok(self.execute(sql, params![task, false]).await? == 1)
    }

    /// Derives what a run waits for: a pause, then an open question, then dependencies. Such a run cannot be
    /// claimed.
    pub async fn run_update_wait(&mut self, run: RunId) -> Result<(), Error> {
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

    /// Adds a run that branches from a transition of another one. That transition becomes the first of its
    /// history.
    pub async fn run_branch(&mut self, branch: &RunBranch) -> Result<(), Error> {
        let (run, (parent, sequence)) = (&branch.run, branch.parent);
        self.run_insert(run).await?;
        let sql = "UPDATE runs SET parent_run_id = $2, parent_sequence = $3, graph_version = $4
                   WHERE id = $1";
        self.execute(sql, params![run.id, parent, sequence, branch.graph_version]).await?;
        match &branch.from {
            Some(seed) => seed_run(self, run, seed).await,
            None => Ok(()),
        }
    }

    /// Records an action.
    pub async fn run_action_insert(&mut self, act: &RunAction) -> Result<(), Error> {
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

    /// Lists the actions on a run after transitions `from` to `to`, in order.
    pub async fn run_action_list(
        &mut self,
        run: RunId,
        from: i64,
        to: i64,
    ) -> Result<Vec<RunAction>, Error> {
        let sql = "SELECT * FROM run_acts WHERE run_id = $1 AND sequence BETWEEN $2 AND $3
                   ORDER BY sequence, id LIMIT 1000";
        self.list(&tables::RUN_ACTS, sql, params![run, from, to], run_action).await
    }
}

/// Writes the first transition of a run's history and its checkpoint. A task without a lease gets a free one,
/// so that the first grant counts as a resumption.
async fn seed_run(tx: &mut Tx, run: &Run, seed: &BranchSeed) -> Result<(), Error> {
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

pub(crate) fn run_action(row: &Row) -> Result<RunAction, Error> {
    Ok(RunAction {
        run: row.id("run_id")?,
        task: row.id("task_id")?,
        sequence: row.get("sequence")?,
        verb: row.keyword("verb")?,
        user: row.id("user_id")?,
        handle: row.get("handle")?,
        detail: row.get("detail")?,
        recorded_at: row.get("recorded_at")?,
    })
}
