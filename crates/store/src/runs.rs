//! Looking back at runs. Who drives them is in [`crate::WorkflowStore`].

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{JobId, RunId, TaskId};

use crate::column::Row;
use crate::param::params;
use crate::quarantine::tables;
use crate::{Error, Run, Tx};

/// A run and its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedRun {
    /// The run.
    pub run: Run,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When a runner first took it.
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
}

/// A transition of a run, without the state after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastTransition {
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
    /// How long the node took.
    pub duration_ms: i64,
    /// When it was recorded.
    pub recorded_at: DateTime<Utc>,
}

/// Runs as they are remembered.
#[async_trait]
pub trait RunStore {
    /// The run with this id.
    async fn run_get(&mut self, id: RunId) -> Result<Option<RecordedRun>, Error>;
    /// Runs of a task, newest first.
    async fn run_list(
        &mut self,
        task: TaskId,
        before: Option<RunId>,
        limit: u32,
    ) -> Result<Vec<RecordedRun>, Error>;
    /// Transitions of a run after number `after`, oldest first.
    async fn history_page(
        &mut self,
        run: RunId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<PastTransition>, Error>;
}

#[async_trait]
impl RunStore for Tx {
    async fn run_get(&mut self, id: RunId) -> Result<Option<RecordedRun>, Error> {
        let sql = "SELECT * FROM runs WHERE id = $1";
        self.one(&tables::RUNS, sql, params![id], recorded).await
    }

    async fn run_list(
        &mut self,
        task: TaskId,
        before: Option<RunId>,
        limit: u32,
    ) -> Result<Vec<RecordedRun>, Error> {
        let sql = "SELECT * FROM runs WHERE task_id = $1
                   AND ($2 /*pg ::uuid */ IS NULL OR id < $2) ORDER BY id DESC LIMIT $3";
        self.page(&tables::RUNS, sql, params![task, before, limit], recorded).await
    }

    async fn history_page(
        &mut self,
        run: RunId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<PastTransition>, Error> {
        let sql =
            "SELECT run_id, sequence, node_id, edge, step_index, job_id, duration_ms, recorded_at
                   FROM workflow_history WHERE run_id = $1 AND sequence > $2
                   ORDER BY sequence LIMIT $3";
        self.page(&tables::HISTORY, sql, params![run, after, limit], transition).await
    }
}

pub(crate) fn recorded(row: &Row) -> Result<RecordedRun, Error> {
    Ok(RecordedRun {
        run: Run {
            id: row.id("id")?,
            task: row.id("task_id")?,
            trace: row.id("trace_id")?,
            status: row.word("status")?,
        },
        created_at: row.get("created_at")?,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
    })
}

pub(crate) fn transition(row: &Row) -> Result<PastTransition, Error> {
    let step_index: Option<i64> = row.get("step_index")?;
    Ok(PastTransition {
        sequence: row.get("sequence")?,
        node: row.get("node_id")?,
        edge: row.get("edge")?,
        step_index: step_index.and_then(|index| u32::try_from(index).ok()),
        job: row.id_opt("job_id")?,
        duration_ms: row.get("duration_ms")?,
        recorded_at: row.get("recorded_at")?,
    })
}
