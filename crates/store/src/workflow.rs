//! Runs, their checkpoints, history and journalled effects.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{JobId, RunId, TaskId, TraceId};
use cynode_domain::status::RunStatus;
use serde_json::Value;
use uuid::Uuid;

use crate::column::Row;
use crate::param::params;
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
    /// The whole state after it.
    pub state: Value,
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
    /// Adds a run that waits for a runner.
    async fn run_insert(&mut self, run: &Run) -> Result<(), Error>;
    /// The newest run of a task.
    async fn run_of_task(&mut self, task: TaskId) -> Result<Option<Run>, Error>;
    /// Moves a run; terminal statuses take it out of reach of claims, and are never overwritten.
    async fn run_set_status(&mut self, run: RunId, status: RunStatus) -> Result<(), Error>;
    /// The oldest run that nobody drives and whose task is open and waits for nothing. The task is
    /// locked, and skipped by others, until the transaction ends. Somebody may have been granted its
    /// lease a moment before: only [`crate::LeaseStore::lease_grant`] decides who drives it.
    async fn run_next(&mut self) -> Result<Option<Run>, Error>;
    /// The newest checkpoint of a task.
    async fn checkpoint_get(&mut self, task: TaskId) -> Result<Option<Checkpoint>, Error>;
    /// Writes a transition: the checkpoint and its history row.
    async fn transition_save(&mut self, transition: &Transition) -> Result<(), Error>;
    /// Every transition of a run, oldest first.
    async fn history_list(&mut self, run: RunId) -> Result<Vec<Transition>, Error>;
    /// The newest transition of a run.
    async fn history_last(&mut self, run: RunId) -> Result<Option<Transition>, Error>;
    /// Remembers an effect; the first answer under a key stays. Gives the answer that is kept.
    async fn effect_record(
        &mut self,
        run: RunId,
        sequence: i64,
        effect: &Effect,
    ) -> Result<Value, Error>;
    /// Effects recorded after transition `sequence`.
    async fn effect_list(&mut self, run: RunId, sequence: i64) -> Result<Vec<Effect>, Error>;
}

#[async_trait]
impl WorkflowStore for Tx {
    async fn run_insert(&mut self, run: &Run) -> Result<(), Error> {
        let sql = "INSERT INTO runs (id, task_id, trace_id, status, runnable, created_at)
                   VALUES ($1, $2, $3, $4, $5, cynode_now())";
        let params = params![run.id, run.task, run.trace, run.status, !run.status.is_terminal()];
        self.execute(sql, params).await.map(drop)
    }

    async fn run_of_task(&mut self, task: TaskId) -> Result<Option<Run>, Error> {
        let sql = "SELECT * FROM runs WHERE task_id = $1 ORDER BY id DESC LIMIT 1";
        self.row(sql, params![task]).await?.as_ref().map(run).transpose()
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
        // Tasks are locked before leases, leases before runs, by everybody: a claim that locked the
        // run first would deadlock with a cancellation.
        let sql = "SELECT r.* FROM runs r JOIN tasks o ON o.id = r.task_id
                   WHERE r.runnable AND NOT o.closed
                   AND NOT EXISTS (SELECT 1 FROM task_workflow_leases l
                       WHERE l.task_id = r.task_id AND l.holder_id IS NOT NULL
                       AND l.expires_at > cynode_now())
                   AND NOT EXISTS (SELECT 1 FROM task_dependencies d
                       JOIN tasks t ON t.id = d.depends_on_task_id
                       WHERE d.task_id = r.task_id AND t.status <> 'completed')
                   ORDER BY r.id LIMIT 1 /*pg FOR NO KEY UPDATE OF o SKIP LOCKED */";
        self.row(sql, &[]).await?.as_ref().map(run).transpose()
    }

    async fn checkpoint_get(&mut self, task: TaskId) -> Result<Option<Checkpoint>, Error> {
        let sql = "SELECT * FROM workflow_checkpoints WHERE task_id = $1";
        self.row(sql, params![task]).await?.as_ref().map(checkpoint).transpose()
    }

    async fn transition_save(&mut self, new: &Transition) -> Result<(), Error> {
        let sql = "INSERT INTO workflow_checkpoints
                   (id, task_id, run_id, state, last_node_id, edge, sequence, updated_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, cynode_now())
                   ON CONFLICT (task_id) DO UPDATE SET run_id = excluded.run_id,
                       state = excluded.state, last_node_id = excluded.last_node_id,
                       edge = excluded.edge, sequence = excluded.sequence,
                       updated_at = excluded.updated_at";
        let params = params![
            Uuid::now_v7(),
            new.task,
            new.run,
            &new.state,
            &new.node,
            &new.edge,
            new.sequence
        ];
        self.execute(sql, params).await?;
        let sql = "INSERT INTO workflow_history
                   (run_id, sequence, task_id, node_id, edge, step_index, job_id, state, epoch,
                    duration_ms, recorded_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, cynode_now())";
        let params = params![
            new.run,
            new.sequence,
            new.task,
            &new.node,
            &new.edge,
            new.step_index,
            new.job,
            &new.state,
            new.epoch,
            new.duration_ms,
        ];
        self.execute(sql, params).await.map(drop)
    }

    async fn history_list(&mut self, run: RunId) -> Result<Vec<Transition>, Error> {
        let sql = "SELECT * FROM workflow_history WHERE run_id = $1 ORDER BY sequence";
        self.rows(sql, params![run]).await?.iter().map(transition).collect()
    }

    async fn history_last(&mut self, run: RunId) -> Result<Option<Transition>, Error> {
        let sql = "SELECT * FROM workflow_history WHERE run_id = $1
                   ORDER BY sequence DESC LIMIT 1";
        self.row(sql, params![run]).await?.as_ref().map(transition).transpose()
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
        let sql = "SELECT answer FROM workflow_effects WHERE run_id = $1 AND key = $2";
        let kept = self.row(sql, params![run, &effect.key]).await?;
        kept.map_or(Ok(effect.answer.clone()), |row| row.get("answer"))
    }

    async fn effect_list(&mut self, run: RunId, sequence: i64) -> Result<Vec<Effect>, Error> {
        let sql = "SELECT key, answer FROM workflow_effects
                   WHERE run_id = $1 AND sequence > $2 ORDER BY key";
        let rows = self.rows(sql, params![run, sequence]).await?;
        rows.iter()
            .map(|row| Ok(Effect { key: row.get("key")?, answer: row.get("answer")? }))
            .collect()
    }
}

fn run(row: &Row) -> Result<Run, Error> {
    Ok(Run {
        id: row.id("id")?,
        task: row.id("task_id")?,
        trace: row.id("trace_id")?,
        status: row.word("status")?,
    })
}

fn checkpoint(row: &Row) -> Result<Checkpoint, Error> {
    Ok(Checkpoint {
        state: row.get("state")?,
        last_node: row.get("last_node_id")?,
        edge: row.get("edge")?,
        sequence: row.get("sequence")?,
        updated_at: row.get("updated_at")?,
    })
}

fn transition(row: &Row) -> Result<Transition, Error> {
    let step_index: Option<i64> = row.get("step_index")?;
    Ok(Transition {
        run: row.id("run_id")?,
        task: row.id("task_id")?,
        sequence: row.get("sequence")?,
        node: row.get("node_id")?,
        edge: row.get("edge")?,
        step_index: step_index.and_then(|index| u32::try_from(index).ok()),
        job: row.id_opt("job_id")?,
        state: row.get("state")?,
        epoch: row.get("epoch")?,
        duration_ms: row.get("duration_ms")?,
        recorded_at: row.get("recorded_at")?,
    })
}
