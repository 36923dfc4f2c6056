//! What agents recorded in a trace.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{JobId, RunId, TaskId, TraceEventId, TraceId, UserId};
use cynode_domain::trace::{TraceEntry, TraceEvent, TraceFields};
use cynode_sql::Row;
use cynode_sql::params;

use super::TraceFilter;
use crate::quarantine::tables;
use crate::{Error, Tx};

/// A stored event of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEventRow {
    /// In the order in which the events were recorded.
    pub id: TraceEventId,
    pub user: UserId,
    pub task: Option<TaskId>,
    pub run: Option<RunId>,
    pub job: Option<JobId>,
    /// The kind of the handoff in which it was recorded.
    pub handoff: Option<String>,
    pub event: TraceEvent,
    pub recorded_at: DateTime<Utc>,
}

impl Tx {
    pub async fn trace_event_insert(&mut self, row: &TraceEventRow) -> Result<(), Error> {
        let sql =
            "INSERT INTO trace_events (id, trace_id, user_id, task_id, run_id, job_id, handoff,
                   actor, kind, step_index, stop, fields, at, recorded_at, profile_id)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
                   ON CONFLICT (id) DO NOTHING";
        let TraceEvent { trace, profile, actor, at, entry } = &row.event;
        let fields = serde_json::to_value(&entry.fields).unwrap_or_default();
        let params = params![
            row.id,
            *trace,
            row.user,
            row.task,
            row.run,
            row.job,
            row.handoff.clone(),
            actor.as_str(),
            entry.kind.as_str(),
            entry.step_index,
            entry.stop.map(cynode_domain::trace::TraceStop::as_str),
            &fields,
            *at,
            row.recorded_at,
            *profile,
        ];
        self.execute(sql, params).await.map(drop)
    }

    /// Whether the trace has events of a job.
    pub async fn trace_has_events_of_job(
        &mut self,
        trace: TraceId,
        job: JobId,
    ) -> Result<bool, Error> {
        let sql = "SELECT 1 AS one FROM trace_events WHERE trace_id = $1 AND job_id = $2 LIMIT 1";
        Ok(self.row(sql, params![trace, job]).await?.is_some())
    }

    /// Deletes at most `limit` events that were recorded before `until`; returns how many.
    pub async fn trace_event_trim(
        &mut self,
        until: DateTime<Utc>,
        limit: u32,
    ) -> Result<u64, Error> {
        let sql = "DELETE FROM trace_events WHERE id IN (SELECT id FROM trace_events
                   WHERE recorded_at < $1 ORDER BY recorded_at LIMIT $2)";
        self.execute(sql, params![until, limit]).await
    }

    /// Lists the events of a trace, in the order in which they were recorded.
    pub async fn trace_event_list(
        &mut self,
        filter: &TraceFilter,
    ) -> Result<Vec<TraceEventRow>, Error> {
        let sql = "SELECT * FROM trace_events WHERE trace_id = $1
                   AND ($2 /*pg ::uuid */ IS NULL OR user_id = $2) ORDER BY id LIMIT $3";
        let params = params![filter.trace, filter.owner, filter.limit];
        self.page(&tables::TRACE_EVENTS, sql, params, trace_event).await
    }
}

pub(crate) fn trace_event(row: &Row) -> Result<TraceEventRow, Error> {
    let step_index: Option<i64> = row.get("step_index")?;
    let fields: TraceFields = row.json("fields")?;
    Ok(TraceEventRow {
        id: row.id("id")?,
        user: row.id("user_id")?,
        task: row.id_opt("task_id")?,
        run: row.id_opt("run_id")?,
        job: row.id_opt("job_id")?,
        handoff: row.get("handoff")?,
        event: TraceEvent {
            trace: row.id("trace_id")?,
            profile: row.id_opt("profile_id")?,
            actor: row.keyword("actor")?,
            at: row.get("at")?,
            entry: TraceEntry {
                kind: row.keyword("kind")?,
                step_index: step_index.and_then(|index| u32::try_from(index).ok()),
                stop: row.keyword_opt("stop")?,
                fields,
            },
        },
        recorded_at: row.get("recorded_at")?,
    })
}
