//! Reads of checkpoints, transitions and past states of a run.

use cynode_domain::ids::{RunId, TaskId};
use cynode_workflow_state::changes::{self, Changes, StateRecord};
use serde_json::Value;

use super::{Checkpoint, Transition};
use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// Decodes the run of a checkpoint, the transition of its newest full state, and the checkpoint with that
/// state.
pub(crate) fn position(row: &Row) -> Result<(RunId, i64, Checkpoint), Error> {
    let checkpoint = Checkpoint {
        state: row.get("state")?,
        last_node: row.get("last_node_id")?,
        edge: row.get("edge")?,
        sequence: row.get("sequence")?,
        updated_at: row.get("updated_at")?,
    };
    Ok((row.id("run_id")?, row.get("base_sequence")?, checkpoint))
}

impl Tx {
    /// Returns the newest checkpoint of a task.
    pub async fn checkpoint_get(&mut self, task: TaskId) -> Result<Option<Checkpoint>, Error> {
        let sql = "SELECT * FROM workflow_checkpoints WHERE task_id = $1 AND sequence > 0";
        let Some(row) = self.row(sql, params![task]).await? else {
            return Ok(None);
        };
        let (run, base, mut checkpoint) = self.decode(&tables::CHECKPOINTS, &row, position)?;
        let sequence = checkpoint.sequence;
        if checkpoint.state.is_null() {
            let unreadable =
                || Error::unreadable("checkpoint", format!("{run} has no row {sequence}"));
            checkpoint.state = self.state_at(run, sequence).await?.ok_or_else(unreadable)?;
        } else if base < sequence {
            // A transition may have been written since; its changes are not part of this checkpoint.
            let rows = records(self, run, base + 1, sequence).await?;
            checkpoint.state = apply_changes(self, checkpoint.state, &rows)?;
        }
        Ok(Some(checkpoint))
    }

    /// Returns the full state of a run after transition `sequence`; `None` if there is no such transition.
    pub async fn state_at(&mut self, run: RunId, sequence: i64) -> Result<Option<Value>, Error> {
        let sql = "SELECT sequence FROM workflow_history
                   WHERE run_id = $1 AND sequence <= $2 AND state IS NOT NULL
                   ORDER BY sequence DESC LIMIT 1";
        let base = match self.row(sql, params![run, sequence]).await? {
            Some(row) => row.get("sequence")?,
            None => 1,
        };
        let rows = records(self, run, base, sequence).await?;
        let is_there = match rows.last() {
            Some(last) => last.get::<i64>("sequence")? == sequence,
            None => false,
        };
        if !is_there {
            return Ok(None);
        }
        apply_changes(self, Value::Object(serde_json::Map::new()), &rows).map(Some)
    }
}

async fn records(tx: &mut Tx, run: RunId, from: i64, to: i64) -> Result<Vec<Row>, Error> {
    let sql = "SELECT run_id, sequence, state, changes FROM workflow_history
               WHERE run_id = $1 AND sequence BETWEEN $2 AND $3 ORDER BY sequence";
    tx.rows(sql, params![run, from, to]).await
}

fn apply_changes(tx: &Tx, base: Value, rows: &[Row]) -> Result<Value, Error> {
    let records = rows.iter().map(|row| tx.decode(&tables::HISTORY, row, record));
    let records: Vec<_> = records.collect::<Result<_, _>>()?;
    changes::rebuild_state(base, records)
        .map_err(|error| Error::unreadable("changes", error.to_string()))
}

/// Decodes the state or the changes of a history row.
pub(super) fn record(row: &Row) -> Result<StateRecord, Error> {
    if let Some(state) = row.get::<Option<Value>>("state")? {
        return Ok(StateRecord::Full(state));
    }
    match row.get::<Option<Value>>("changes")? {
        Some(changes) => serde_json::from_value(changes)
            .map(StateRecord::Changes)
            .map_err(|error| Error::unreadable("changes", error.to_string())),
        None => Ok(StateRecord::Changes(Changes::default())),
    }
}

pub(crate) fn transition(row: &Row) -> Result<Transition, Error> {
    let step_index: Option<i64> = row.get("step_index")?;
    Ok(Transition {
        run: row.id("run_id")?,
        task: row.id("task_id")?,
        sequence: row.get("sequence")?,
        node: row.get("node_id")?,
        edge: row.get("edge")?,
        step_index: step_index.and_then(|index| u32::try_from(index).ok()),
        job: row.id_opt("job_id")?,
        record: record(row)?,
        epoch: row.get("epoch")?,
        duration_ms: row.get("duration_ms")?,
        recorded_at: row.get("recorded_at")?,
    })
}
