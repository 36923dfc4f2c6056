//! Reads of runs, for people. The queries of runners are in `workflow`.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{JobId, RunId, TaskId};

use crate::quarantine::tables;
use crate::{Error, Run, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A run with its timestamps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunRecord {
    pub run: Run,
    pub created_at: DateTime<Utc>,
    /// When a runner first claimed it.
    pub started_at: Option<DateTime<Utc>>,
    pub ended_at: Option<DateTime<Utc>>,
}

/// A transition of a run, without the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransitionSummary {
    /// Its number, from 1.
    pub sequence: i64,
    pub node: String,
    pub edge: String,
    pub step_index: Option<u32>,
    pub job: Option<JobId>,
    pub duration_ms: i64,
    pub recorded_at: DateTime<Utc>,
}

impl Tx {
    pub async fn run_get(&mut self, id: RunId) -> Result<Option<RunRecord>, Error> {
        let sql = "SELECT * FROM runs WHERE id = $1";
        self.one(&tables::RUNS, sql, params![id], read_run_record).await
    }

    /// Lists runs of a task, newest first.
    pub async fn run_list(
        &mut self,
        task: TaskId,
        before: Option<RunId>,
        limit: u32,
    ) -> Result<Vec<RunRecord>, Error> {
        let sql = "SELECT * FROM runs WHERE task_id = $1
                   AND ($2 /*pg ::uuid */ IS NULL OR id < $2) ORDER BY id DESC LIMIT $3";
        self.page(&tables::RUNS, sql, params![task, before, limit], read_run_record).await
    }

    /// Lists transitions of a run after number `after`, oldest first.
    pub async fn history_page(
        &mut self,
        run: RunId,
        after: i64,
        limit: u32,
    ) -> Result<Vec<TransitionSummary>, Error> {
        let sql =
            "SELECT run_id, sequence, node_id, edge, step_index, job_id, duration_ms, recorded_at
                   FROM workflow_history WHERE run_id = $1 AND sequence > $2
                   ORDER BY sequence LIMIT $3";
        self.page(&tables::HISTORY, sql, params![run, after, limit], transition_summary).await
    }
}

pub(crate) fn read_run_record(row: &Row) -> Result<RunRecord, Error> {
    Ok(RunRecord {
        run: Run {
            id: row.id("id")?,
            task: row.id("task_id")?,
            trace: row.id("trace_id")?,
            status: row.keyword("status")?,
        },
        created_at: row.get("created_at")?,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
    })
}

pub(crate) fn transition_summary(row: &Row) -> Result<TransitionSummary, Error> {
    let step_index: Option<i64> = row.get("step_index")?;
    Ok(TransitionSummary {
        sequence: row.get("sequence")?,
        node: row.get("node_id")?,
        edge: row.get("edge")?,
        step_index: step_index.and_then(|index| u32::try_from(index).ok()),
        job: row.id_opt("job_id")?,
        duration_ms: row.get("duration_ms")?,
        recorded_at: row.get("recorded_at")?,
    })
}
