//! The transactional outbox: events, readable in commit order.

use chrono::{DateTime, Utc};
use cynode_domain::event_cursor::EventCursor;
use cynode_domain::ids::{JobId, ProjectId, RunId, TaskId, UserId};
use serde_json::Value;

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::{Param, params};

/// An event to append in the transaction that causes it.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// The kind, such as `task.created`.
    pub kind: &'static str,
    /// The user who may see it; administrators see all events.
    pub owner: Option<UserId>,
    pub project: Option<ProjectId>,
    pub task: Option<TaskId>,
    pub run: Option<RunId>,
    pub job: Option<JobId>,
    /// Details, depending on the kind.
    pub data: Value,
}

/// An event.
#[derive(Debug, Clone, PartialEq)]
pub struct OutboxEvent {
    pub cursor: EventCursor,
    /// The kind, such as `task.created`.
    pub kind: String,
    pub project: Option<ProjectId>,
    pub task: Option<TaskId>,
    pub run: Option<RunId>,
    pub job: Option<JobId>,
    /// Details, depending on the kind.
    pub data: Value,
    pub occurred_at: DateTime<Utc>,
}

/// Selects events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only events of this owner; all owners if absent.
    pub owner: Option<UserId>,
    pub task: Option<TaskId>,
}

/// Events, and the position up to which the outbox was read.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPage {
    /// The events that match the filter, in order.
    pub events: Vec<OutboxEvent>,
    /// Where the next page starts: every event up to here was examined, whether it matched or not.
    pub cursor: EventCursor,
}

/// The outbox. A reader that resumes from its last cursor misses no committed event, in whatever order the
/// transactions committed.
impl Tx {
    /// Appends an event in this transaction.
    pub async fn event_append(&mut self, event: &NewEvent) -> Result<(), Error> {
        let sql = "INSERT INTO events
                   (kind, owner_id, project_id, task_id, run_id, job_id, data, occurred_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, cynode_now())";
        let params = params![
            event.kind,
            event.owner,
            event.project,
            event.task,
            event.run,
            event.job,
            &event.data
        ];
        self.execute(sql, params).await.map(drop)
    }

    /// Lists events after `cursor`, in order.
    pub async fn event_list(
        &mut self,
        cursor: EventCursor,
        filter: EventFilter,
        limit: u32,
    ) -> Result<Vec<OutboxEvent>, Error> {
        let (sql, params) = list_statement(cursor, filter, limit, self.is_sqlite());
        self.page(&tables::EVENTS, sql, &params, event).await
    }

    /// Lists events after `cursor`, in order, with the cursor of the next page. If no event matches, the cursor
    /// still advances to the newest event.
    pub async fn event_page(
        &mut self,
        cursor: EventCursor,
        filter: EventFilter,
        limit: u32,
    ) -> Result<EventPage, Error> {
        let events = self.event_list(cursor, filter, limit).await?;
        let is_full = u32::try_from(events.len()).is_ok_and(|found| found >= limit);
        let last = match events.last() {
            Some(last) if is_full => last.cursor,
            // Same snapshot: the newest event was examined above.
            _ => self.event_latest().await?.max(cursor),
        };
        Ok(EventPage { events, cursor: last })
    }

    /// Returns the query plan of the engine.
    pub async fn event_list_plan(&mut self, filter: EventFilter) -> Result<String, Error> {
        let start = EventCursor::default();
        let (sql, params) = list_statement(start, filter, 200, self.is_sqlite());
        self.plan(sql, &params).await
    }

    /// Returns the position of the newest event.
    pub async fn event_latest(&mut self) -> Result<EventCursor, Error> {
        let sql = if self.is_sqlite() {
            "SELECT txid, seq FROM committed_events ORDER BY seq DESC LIMIT 1"
        } else {
            "SELECT txid, seq FROM committed_events ORDER BY txid DESC, seq DESC LIMIT 1"
        };
        self.row(sql, &[]).await?.as_ref().map_or(Ok(EventCursor::default()), cursor)
    }
}

/// One statement per filter and engine, so none reads an event that it does not return. On SQLite the sequence
/// alone is the order. On PostgreSQL a range over all columns of an index is used: with an equality the planner
/// might scan in commit order and filter.
fn list_statement(
    from: EventCursor,
    filter: EventFilter,
    limit: u32,
    is_sqlite: bool,
) -> (&'static str, Vec<Param>) {
    let EventCursor { transaction, sequence } = from;
    let sql = match (filter.task, filter.owner, is_sqlite) {
        (None, None, true) => "SELECT * FROM committed_events WHERE seq > $1 ORDER BY seq LIMIT $2",
        (None, Some(_), true) => {
            "SELECT * FROM committed_events WHERE owner_id = $1 AND txid = 0 AND seq > $2
             ORDER BY seq LIMIT $3"
        }
        (Some(_), None, true) => {
            "SELECT * FROM committed_events WHERE task_id = $1 AND txid = 0 AND seq > $2
             ORDER BY seq LIMIT $3"
        }
        (Some(_), Some(_), true) => {
            "SELECT * FROM committed_events WHERE task_id = $1 AND txid = 0 AND seq > $3
             AND owner_id = $2 ORDER BY seq LIMIT $4"
        }
        (None, None, false) => {
            "SELECT * FROM committed_events WHERE (txid, seq) > ($1, $2)
             ORDER BY txid, seq LIMIT $3"
        }
        (None, Some(_), false) => {
            "SELECT * FROM committed_events
             WHERE (owner_id, txid, seq) > ($1, $2, $3) AND owner_id <= $1
             ORDER BY owner_id, txid, seq LIMIT $4"
        }
        (Some(_), None, false) => {
            "SELECT * FROM committed_events
             WHERE (task_id, txid, seq) > ($1, $2, $3) AND task_id <= $1
             ORDER BY task_id, txid, seq LIMIT $4"
        }
        (Some(_), Some(_), false) => {
            "SELECT * FROM committed_events
             WHERE (task_id, txid, seq) > ($1, $3, $4) AND task_id <= $1 AND owner_id = $2
             ORDER BY task_id, txid, seq LIMIT $5"
        }
    };
    let mut params: Vec<Param> = vec![];
    params.extend(filter.task.map(Param::from));
    params.extend(filter.owner.map(Param::from));
    params.extend((!is_sqlite).then(|| Param::from(transaction)));
    params.extend([sequence.into(), limit.into()]);
    (sql, params)
}

fn cursor(row: &Row) -> Result<EventCursor, Error> {
    Ok(EventCursor { transaction: row.get("txid")?, sequence: row.get("seq")? })
}

pub(crate) fn event(row: &Row) -> Result<OutboxEvent, Error> {
    Ok(OutboxEvent {
        cursor: cursor(row)?,
        kind: row.get("kind")?,
        project: row.id_opt("project_id")?,
        task: row.id_opt("task_id")?,
        run: row.id_opt("run_id")?,
        job: row.id_opt("job_id")?,
        data: row.get("data")?,
        occurred_at: row.get("occurred_at")?,
    })
}
