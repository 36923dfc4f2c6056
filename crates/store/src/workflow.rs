//! Runs, their checkpoints, history and journalled effects.
//!
//! Start at [`WorkflowStore`]. A run is moved by [`crate::Store::transit`] ([`moves`], many at once on
//! PostgreSQL: [`lane`]) and handed out by [`claim`]. A checkpoint keeps the position of a run and
//! the number of its newest whole state; history keeps that state and what each transition changed since
//! ([`history`]), so that a transition writes no more when the state is large.

mod claim;
mod history;
pub(crate) mod lane;
mod moves;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::changes::StateRecord;
use cynode_domain::ids::{JobId, RunId, TaskId, TraceId};
use cynode_domain::status::RunStatus;
use serde_json::Value;

pub use self::claim::{Claim, Granted};
pub(crate) use self::history::{position, transition};
pub use self::moves::{Close, Held, Move, MoveStore, Moved, Told};
use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// One execution of a task's workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    /// The run's id.
    pub id: RunId,
    /// The task it executes.
    pub task: TaskId,
    /// Follows the run through logs of every process.
    pub trace: TraceId,
    /// Where it stands.
    pub status: RunStatus,
}

/// The versions of the graph that a runner can drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    /// The oldest.
    pub oldest: u32,
    /// The newest; new runs begin with it.
    pub newest: u32,
}

impl Versions {
    /// Any version, for those who only look.
    pub const ANY: Self = Self { oldest: 0, newest: u32::MAX };
}

/// Where a run stands between two nodes.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// The whole state after the last completed node.
    pub state: Value,
    /// That node.
    pub last_node: String,
    /// The edge taken out of it.
    pub edge: String,
    /// Transitions so far.
    pub sequence: i64,
    /// When it was recorded.
    pub updated_at: DateTime<Utc>,
}

/// One step of a run from node to node.
#[derive(Debug, Clone, PartialEq)]
pub struct Transition {
    /// The run.
    pub run: RunId,
    /// The task.
    pub task: TaskId,
    /// Its number, from 1.
    pub sequence: i64,
    /// The node that completed.
    pub node: String,
    /// The edge taken out of it.
    pub edge: String,
    /// The step it was about.
    pub step_index: Option<u32>,
    /// The job it was about.
    pub job: Option<JobId>,
    /// The state after it, or what it changed.
    pub record: StateRecord,
    /// The epoch it was written in.
    pub epoch: i64,
    /// How long the node took.
    pub duration_ms: i64,
    /// When it was recorded; given by the database.
    pub recorded_at: Option<DateTime<Utc>>,
}

/// An effect that happened, with its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Effect {
    /// Unique in the run.
    pub key: String,
    /// What it answered.
    pub answer: Value,
}

/// Runs, checkpoints, history and effects.
#[async_trait]
pub trait WorkflowStore {
    /// Adds a run that waits for a runner, or first for what its task depends on.
    async fn run_insert(&mut self, run: &Run) -> Result<(), Error>;
    /// The newest run of a task.
    async fn run_of_task(&mut self, task: TaskId) -> Result<Option<Run>, Error>;
    /// Moves a run; terminal statuses take it out of reach of claims, and are never overwritten.
    async fn run_set_status(&mut self, run: RunId, status: RunStatus) -> Result<(), Error>;
    /// The oldest run that nobody drives and whose task is open and waits for nothing. The task is
    /// locked, and skipped by others, until the transaction ends. Somebody may have been granted its
    /// lease a moment before: only [`crate::LeaseStore::lease_grant`] decides who drives it.
    async fn run_next(&mut self) -> Result<Option<Run>, Error>;
    /// Whether there is a run for [`WorkflowStore::run_next`]. It is kept from nobody.
    async fn run_is_next(&mut self) -> Result<bool, Error>;
    /// Hands runs to a runner, oldest first; task and run are running from here on.
    async fn run_claim(&mut self, claim: &Claim) -> Result<Vec<Granted>, Error>;
    /// Notes that a runner was granted a run, as [`WorkflowStore::run_claim`] does; `started` is
    /// the event that tells of it.
    async fn run_begin(
        &mut self,
        run: &Run,
        versions: Versions,
        started: &'static str,
    ) -> Result<(), Error>;
    /// The version of the graph that drives the run; before its first grant, the oldest that
    /// it needs, if any.
    async fn run_version(&mut self, run: RunId) -> Result<Option<u32>, Error>;
    /// Notes that only runners that know this version of the graph, or newer ones, can go on with the
    /// run, also if it has not begun. A version that is newer already stays.
    async fn run_raise_version(&mut self, run: RunId, version: u32) -> Result<(), Error>;
    /// Remembers why a runner put the run down, and leaves it alone for a while. A version other
    /// than the one on record takes its place, and takes the run out of reach of other runners.
    async fn run_put_down(
        &mut self,
        run: RunId,
        reason: &str,
        version: Option<u32>,
        pause_ms: u32,
    ) -> Result<(), Error>;
    /// Leaves a run alone for a while longer that was put down for `reason`. Gives whether the run is open.
    async fn run_wait_longer(
        &mut self,
        run: RunId,
        reason: &str,
        pause_ms: u32,
    ) -> Result<bool, Error>;
    /// Lets runners take a run at once that was put down.
    async fn run_wake(&mut self, run: RunId) -> Result<(), Error>;
    /// Why the last runner put the run down, until another takes it.
    async fn run_put_down_reason(&mut self, run: RunId) -> Result<Option<String>, Error>;
    /// Lets go of runs that wait for dependencies of which none is left: those that wait for `on`,
    /// or all. Gives their number.
    async fn runs_unblock(&mut self, on: Option<TaskId>) -> Result<u64, Error>;
    /// The newest checkpoint of a task.
    async fn checkpoint_get(&mut self, task: TaskId) -> Result<Option<Checkpoint>, Error>;
    /// The number of the newest transition of a task; 0 before the first.
    async fn checkpoint_position(&mut self, task: TaskId) -> Result<i64, Error>;
    /// Every transition of a run, oldest first.
    async fn history_list(&mut self, run: RunId) -> Result<Vec<Transition>, Error>;
    /// The newest transition of a run.
    async fn history_last(&mut self, run: RunId) -> Result<Option<Transition>, Error>;
    /// The whole state of a run after transition `sequence`; nothing if there is no such row.
    async fn state_at(&mut self, run: RunId, sequence: i64) -> Result<Option<Value>, Error>;
    /// Remembers an effect; the first answer under a key stays. Gives the answer that is kept.
    async fn effect_record(
        &mut self,
        run: RunId,
        sequence: i64,
        effect: &Effect,
    ) -> Result<Value, Error>;
    /// The answer that is kept under a key.
    async fn effect_get(&mut self, run: RunId, key: &str) -> Result<Option<Value>, Error>;
    /// Effects recorded after transition `sequence`.
    async fn effect_list(&mut self, run: RunId, sequence: i64) -> Result<Vec<Effect>, Error>;
    /// How many effects `<number>/<node>/<name>/<what>` the run has for things other than `but`.
    async fn effects_of_others(&mut self, run: RunId, name: &str, but: &str) -> Result<u32, Error>;
}

#[async_trait]
impl WorkflowStore for Tx {
    async fn run_insert(&mut self, run: &Run) -> Result<(), Error> {
        let sql =
            "INSERT INTO runs (id, task_id, trace_id, status, runnable, created_at, waits_for)
                   VALUES ($1, $2, $3, $4, $5, cynode_now(), CASE WHEN EXISTS (
                       SELECT 1 FROM task_dependencies d JOIN tasks t ON t.id = d.depends_on_task_id
                       WHERE d.task_id = $2 AND t.status <> 'completed') THEN 'dependencies' END)";
        let params = params![run.id, run.task, run.trace, run.status, !run.status.is_terminal()];
        self.execute(sql, params).await.map(drop)
    }

    async fn run_of_task(&mut self, task: TaskId) -> Result<Option<Run>, Error> {
        let sql = "SELECT * FROM runs WHERE task_id = $1 ORDER BY id DESC LIMIT 1";
        self.one(&tables::RUNS, sql, params![task], run).await
    }

    async fn run_set_status(&mut self, run: RunId, status: RunStatus) -> Result<(), Error> {
        let sql = "UPDATE runs SET status = $2, runnable = $3,
                   started_at = CASE WHEN $2 = 'running' THEN coalesce(started_at, cynode_now())
                       ELSE started_at END,
                   ended_at = CASE WHEN $3 THEN ended_at ELSE cynode_now() END
                   WHERE id = $1 AND runnable";
        self.execute(sql, params![run, status, !status.is_terminal()]).await.map(drop)
    }

    async fn run_next(&mut self) -> Result<Option<Run>, Error> {
        claim::next(self, Versions::ANY).await
    }

    async fn run_is_next(&mut self) -> Result<bool, Error> {
        claim::is_next(self, Versions::ANY).await
    }

    async fn run_claim(&mut self, claim: &Claim) -> Result<Vec<Granted>, Error> {
        claim::claim(self, claim).await
    }

    async fn run_begin(
        &mut self,
        run: &Run,
        versions: Versions,
        started: &'static str,
    ) -> Result<(), Error> {
        claim::begin(self, run, versions, started).await
    }

    async fn run_version(&mut self, run: RunId) -> Result<Option<u32>, Error> {
        let sql = "SELECT graph_version FROM runs WHERE id = $1";
        let Some(row) = self.row(sql, params![run]).await? else {
            return Ok(None);
        };
        let version: Option<i64> = row.get("graph_version")?;
        Ok(version.and_then(|version| u32::try_from(version).ok()))
    }

    async fn run_raise_version(&mut self, run: RunId, version: u32) -> Result<(), Error> {
        let sql = "UPDATE runs SET graph_version = $2
                   WHERE id = $1 AND runnable AND (graph_version IS NULL OR graph_version < $2)";
        self.execute(sql, params![run, version]).await.map(drop)
    }

    async fn run_put_down(
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

    async fn run_wait_longer(
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

    async fn run_wake(&mut self, run: RunId) -> Result<(), Error> {
        let sql = "UPDATE runs SET not_before = NULL, put_down_reason = NULL
                   WHERE id = $1 AND runnable AND not_before IS NOT NULL";
        self.execute(sql, params![run]).await.map(drop)
    }

    async fn run_put_down_reason(&mut self, run: RunId) -> Result<Option<String>, Error> {
        let sql = "SELECT put_down_reason FROM runs WHERE id = $1 AND runnable";
        self.row(sql, params![run]).await?.map_or(Ok(None), |row| row.get("put_down_reason"))
    }

    async fn runs_unblock(&mut self, on: Option<TaskId>) -> Result<u64, Error> {
        let sql = "UPDATE runs SET waits_for = NULL
                   WHERE runnable AND waits_for = 'dependencies'
                   AND ($1 /*pg ::uuid */ IS NULL OR task_id IN (
                       SELECT d.task_id FROM task_dependencies d WHERE d.depends_on_task_id = $1))
                   AND NOT EXISTS (SELECT 1 FROM task_dependencies d
                       JOIN tasks t ON t.id = d.depends_on_task_id
                       WHERE d.task_id = runs.task_id AND t.status <> 'completed')";
        self.execute(sql, params![on]).await
    }

    async fn checkpoint_get(&mut self, task: TaskId) -> Result<Option<Checkpoint>, Error> {
        history::checkpoint(self, task).await
    }

    async fn checkpoint_position(&mut self, task: TaskId) -> Result<i64, Error> {
        let sql = "SELECT sequence FROM workflow_checkpoints WHERE task_id = $1";
        self.row(sql, params![task]).await?.map_or(Ok(0), |row| row.get("sequence"))
    }

    async fn history_list(&mut self, run: RunId) -> Result<Vec<Transition>, Error> {
        let sql = "SELECT * FROM workflow_history WHERE run_id = $1 ORDER BY sequence";
        self.all(&tables::HISTORY, sql, params![run], transition).await
    }

    async fn history_last(&mut self, run: RunId) -> Result<Option<Transition>, Error> {
        let sql = "SELECT * FROM workflow_history WHERE run_id = $1
                   ORDER BY sequence DESC LIMIT 1";
        self.one(&tables::HISTORY, sql, params![run], transition).await
    }

    async fn state_at(&mut self, run: RunId, sequence: i64) -> Result<Option<Value>, Error> {
        history::state_at(self, run, sequence).await
    }

    async fn effect_record(
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

    async fn effect_get(&mut self, run: RunId, key: &str) -> Result<Option<Value>, Error> {
        let sql = "SELECT * FROM workflow_effects WHERE run_id = $1 AND key = $2";
        let found = self.one(&tables::EFFECTS, sql, params![run, key], effect).await?;
        Ok(found.map(|effect| effect.answer))
    }

    async fn effect_list(&mut self, run: RunId, sequence: i64) -> Result<Vec<Effect>, Error> {
        let sql = "SELECT run_id, key, answer FROM workflow_effects
                   WHERE run_id = $1 AND sequence > $2 ORDER BY key";
        // All or none: an effect that is left out would happen again.
        self.all(&tables::EFFECTS, sql, params![run, sequence], effect).await
    }

    async fn effects_of_others(&mut self, run: RunId, name: &str, but: &str) -> Result<u32, Error> {
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
        status: row.word("status")?,
    })
}
