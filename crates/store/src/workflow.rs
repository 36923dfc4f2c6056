//! Runs, their checkpoints, history and journalled effects.
//!
//! [`crate::Store::transition`] ([`transitions`]) advances a run, [`claim_runs`] assigns it to a runner. A checkpoint
//! holds the position of a run and the number of its newest full state; history holds that state and the
//! changes of each later transition ([`history`]), so a transition writes no more when the state is large.

mod claim;
mod history;
mod transition_sql;
mod transitions;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{JobId, RunId, TaskId, TraceId};
use cynode_domain::status::RunStatus;
use cynode_workflow_state::changes::StateRecord;
use serde_json::Value;

pub use self::claim::{GrantedRun, RunClaim};
pub(crate) use self::history::{position, transition};
pub use self::transitions::{
    EffectWrite, EventPayload, LeaseToken, RunClosure, TransitionOutcome, TransitionWrite,
};
use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// One execution of a task's workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub id: RunId,
    /// The task it executes.
    pub task: TaskId,
    /// Correlates the run across the logs of all processes.
    pub trace: TraceId,
    pub status: RunStatus,
}

/// The versions of the graph that a runner supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GraphVersionRange {
    pub oldest: u32,
    /// New runs start with it.
    pub newest: u32,
}

impl GraphVersionRange {
    /// Any version, for readers.
    pub const ANY: Self = Self { oldest: 0, newest: u32::MAX };
}

/// The newest state of a run, between two workflow nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// The full state after `last_node`.
    pub state: Value,
    /// The last workflow node that completed.
    pub last_node: String,
    pub edge: String,
    /// The number of transitions so far.
    pub sequence: i64,
    pub updated_at: DateTime<Utc>,
}

/// One transition of a run from node to node.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    pub run: RunId,
    pub task: TaskId,
    /// Its number, from 1.
    pub sequence: i64,
    pub node: String,
    pub edge: String,
    pub step_index: Option<u32>,
    pub job: Option<JobId>,
    /// The state after it, or its changes.
    pub record: StateRecord,
    /// The epoch of the lease under which it was written.
    pub epoch: i64,
    pub duration_ms: i64,
    /// Set by the database.
    pub recorded_at: Option<DateTime<Utc>>,
}

/// An effect with its journalled answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// Unique in the run.
    pub key: String,
    pub answer: Value,
}

/// Runs, checkpoints, history and effects.
impl Tx {
    /// Adds a run that waits for a runner, or first for the dependencies of its task.
    pub async fn run_insert(&mut self, run: &Run) -> Result<(), Error> {
        let sql =
            "INSERT INTO runs (id, task_id, trace_id, status, runnable, created_at, waits_for)
                   VALUES ($1, $2, $3, $4, $5, cynode_now(), CASE WHEN EXISTS (
                       SELECT 1 FROM task_dependencies d JOIN tasks t ON t.id = d.depends_on_task_id
                       WHERE d.task_id = $2 AND t.status <> 'completed') THEN 'dependencies' END)";
        let params = params![run.id, run.task, run.trace, run.status, !run.status.is_terminal()];
        self.execute(sql, params).await.map(drop)
    }

    /// Returns the newest run of a task.
    pub async fn run_of_task(&mut self, task: TaskId) -> Result<Option<Run>, Error> {
        let sql = "SELECT * FROM runs WHERE task_id = $1 ORDER BY id DESC LIMIT 1";
        self.one(&tables::RUNS, sql, params![task], run).await
    }

    /// Sets the status of a run; a run with a terminal status cannot be claimed, and the status is never
    /// overwritten.
    pub async fn run_set_status(&mut self, run: RunId, status: RunStatus) -> Result<(), Error> {
        let sql = "UPDATE runs SET status = $2, runnable = $3,
                   started_at = CASE WHEN $2 = 'running' THEN coalesce(started_at, cynode_now())
                       ELSE started_at END,
                   ended_at = CASE WHEN $3 THEN ended_at ELSE cynode_now() END
                   WHERE id = $1 AND runnable";
        self.execute(sql, params![run, status, !status.is_terminal()]).await.map(drop)
    }

    /// Returns the oldest run without a live lease whose task is open and waits for nothing. The task is locked
    /// until the transaction ends; others skip it. Its lease may have been granted to another runner
    /// concurrently: only [`crate::Tx::lease_grant`] decides who drives it.
    pub async fn run_next(&mut self) -> Result<Option<Run>, Error> {
        claim::next_claimable(self, GraphVersionRange::ANY).await
    }

    /// Returns the version of the graph that drives the run; before the first grant, the oldest version it
    /// requires, if any.
    pub async fn run_version(&mut self, run: RunId) -> Result<Option<u32>, Error> {
        let sql = "SELECT graph_version FROM runs WHERE id = $1";
        let Some(row) = self.row(sql, params![run]).await? else {
            return Ok(None);
        };
        let version: Option<i64> = row.get("graph_version")?;
        Ok(version.and_then(|version| u32::try_from(version).ok()))
    }

    /// Requires this version of the graph, or a newer one, to resume the run, also if it has not started. A
    /// newer requirement is kept.
    pub async fn run_require_version(&mut self, run: RunId, version: u32) -> Result<(), Error> {
        let sql = "UPDATE runs SET graph_version = $2
                   WHERE id = $1 AND runnable AND (graph_version IS NULL OR graph_version < $2)";
        self.execute(sql, params![run, version]).await.map(drop)
    }

    /// Suspends a run: records the reason, and blocks claims for `pause_ms`. A version replaces the recorded
    /// one, which excludes runners that do not support it.
    pub async fn run_suspend(
        &mut self,
        run: RunId,
        reason: &str,
        version: Option<u32>,
        pause_ms: u32,
    ) -> Result<(), Error> {
        let sql = "UPDATE runs SET put_down_reason = $2, not_before = cynode_after($4),
                   graph_version = coalesce($3, graph_version) WHERE id = $1 AND runnable";
        self.execute(sql, params![run, reason, version, pause_ms]).await.map(drop)
    }

    /// Extends the suspension of a run that was suspended for `reason`. Returns whether the run is open.
    pub async fn run_extend_suspension(
        &mut self,
        run: RunId,
        reason: &str,
        pause_ms: u32,
    ) -> Result<bool, Error> {
        let sql = "UPDATE runs SET not_before = cynode_after($3)
                   WHERE id = $1 AND runnable AND put_down_reason = $2";
        self.execute(sql, params![run, reason, pause_ms]).await?;
        let sql = "SELECT id FROM runs WHERE id = $1 AND runnable";
        Ok(self.row(sql, params![run]).await?.is_some())
    }

    /// Ends the suspension of a run, so that it can be claimed at once.
    pub async fn run_end_suspension(&mut self, run: RunId) -> Result<(), Error> {
        let sql = "UPDATE runs SET not_before = NULL, put_down_reason = NULL
                   WHERE id = $1 AND runnable AND not_before IS NOT NULL";
        self.execute(sql, params![run]).await.map(drop)
    }

    /// Unblocks runs whose dependencies are all completed: those that depend on `on`, or all. Returns how many.
    pub async fn runs_unblock(&mut self, on: Option<TaskId>) -> Result<u64, Error> {
        let sql = "UPDATE runs SET waits_for = NULL
                   WHERE runnable AND waits_for = 'dependencies'
                   AND ($1 /*pg ::uuid */ IS NULL OR task_id IN (
                       SELECT d.task_id FROM task_dependencies d WHERE d.depends_on_task_id = $1))
                   AND NOT EXISTS (SELECT 1 FROM task_dependencies d
                       JOIN tasks t ON t.id = d.depends_on_task_id
                       WHERE d.task_id = runs.task_id AND t.status <> 'completed')";
        self.execute(sql, params![on]).await
    }

    /// Returns the number of the newest transition of a task; 0 before the first.
    pub async fn checkpoint_position(&mut self, task: TaskId) -> Result<i64, Error> {
        let sql = "SELECT sequence FROM workflow_checkpoints WHERE task_id = $1";
        self.row(sql, params![task]).await?.map_or(Ok(0), |row| row.get("sequence"))
    }

    /// Lists the transitions of a run, oldest first.
    pub async fn history_list(&mut self, run: RunId) -> Result<Vec<Transition>, Error> {
        let sql = "SELECT * FROM workflow_history WHERE run_id = $1 ORDER BY sequence";
        self.all(&tables::HISTORY, sql, params![run], transition).await
    }

    /// Returns the newest transition of a run.
    pub async fn history_last(&mut self, run: RunId) -> Result<Option<Transition>, Error> {
        let sql = "SELECT * FROM workflow_history WHERE run_id = $1
                   ORDER BY sequence DESC LIMIT 1";
        self.one(&tables::HISTORY, sql, params![run], transition).await
    }

    /// Journals an effect; the first answer under a key is kept. Returns the journalled answer.
    pub async fn effect_record(
        &mut self,
        run: RunId,
        sequence: i64,
        effect: &Effect,
    ) -> Result<Value, Error> {
        let sql = "INSERT INTO workflow_effects (run_id, key, sequence, answer, recorded_at)
                   VALUES ($1, $2, $3, $4, cynode_now()) ON CONFLICT DO NOTHING";
        self.execute(sql, params![run, &effect.key, sequence, &effect.answer]).await?;
        let kept = self.effect_get(run, &effect.key).await?;
        Ok(kept.unwrap_or_else(|| effect.answer.clone()))
    }

    /// Returns the journalled answer under a key.
    pub async fn effect_get(&mut self, run: RunId, key: &str) -> Result<Option<Value>, Error> {
        let sql = "SELECT * FROM workflow_effects WHERE run_id = $1 AND key = $2";
        let found = self.one(&tables::EFFECTS, sql, params![run, key], effect).await?;
        Ok(found.map(|effect| effect.answer))
    }

    /// Lists effects journalled after transition `sequence`.
    pub async fn effect_list(&mut self, run: RunId, sequence: i64) -> Result<Vec<Effect>, Error> {
        let sql = "SELECT run_id, key, answer FROM workflow_effects
                   WHERE run_id = $1 AND sequence > $2 ORDER BY key";
        // All or none: a missing effect would be executed again.
        self.all(&tables::EFFECTS, sql, params![run, sequence], effect).await
    }

    /// Counts the run's effects `<number>/<node>/<name>/<what>` where `<what>` is not `but`.
    pub async fn effect_count_others(
        &mut self,
        run: RunId,
        name: &str,
        but: &str,
    ) -> Result<u32, Error> {
        let sql = "SELECT count(*) AS number FROM workflow_effects
                   WHERE run_id = $1 AND key LIKE $2 AND NOT key LIKE $3";
        let (all, its) = (format!("%/{name}/%"), format!("%/{name}/{but}"));
        let row = self.row(sql, params![run, all, its]).await?;
        let number: i64 = row.map_or(Ok(0), |row| row.get("number"))?;
        Ok(u32::try_from(number).unwrap_or(u32::MAX))
    }
}

pub(crate) fn effect(row: &Row) -> Result<Effect, Error> {
    Ok(Effect { key: row.get("key")?, answer: row.get("answer")? })
}

pub(crate) fn run(row: &Row) -> Result<Run, Error> {
    Ok(Run {
        id: row.id("id")?,
        task: row.id("task_id")?,
        trace: row.id("trace_id")?,
        status: row.keyword("status")?,
    })
}
