//! The outbox: what happened, readable in the order of commits.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{JobId, ProjectId, RunId, TaskId, UserId};
use serde_json::Value;

use crate::column::Row;
use crate::param::{Param, params};
use crate::quarantine::tables;
use crate::{Error, Tx};

/// Something that happened, written in the transaction that made it happen.
#[derive(Debug, Clone, PartialEq)]
pub struct NewEvent {
    /// What, such as `task.created`.
    pub kind: &'static str,
    /// Who may see it; administrators see all.
    pub owner: Option<UserId>,
    /// The project it belongs to.
    pub project: Option<ProjectId>,
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// The run it belongs to.
    pub run: Option<RunId>,
    /// The job it belongs to.
    pub job: Option<JobId>,
    /// Details, by kind.
    pub data: Value,
}

/// A place in the order of commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventCursor {
    transaction: i64,
    sequence: i64,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its place.
    pub cursor: EventCursor,
    /// What, such as `task.created`.
    pub kind: String,
    /// The project it belongs to.
    pub project: Option<ProjectId>,
    /// The task it belongs to.
    pub task: Option<TaskId>,
    /// The run it belongs to.
    pub run: Option<RunId>,
    /// The job it belongs to.
    pub job: Option<JobId>,
    /// Details, by kind.
    pub data: Value,
    /// When it happened.
    pub occurred_at: DateTime<Utc>,
}

/// Which events a reader sees.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Of this owner; of everybody when absent.
    pub owner: Option<UserId>,
    /// Of this task.
    pub task: Option<TaskId>,
}

/// Events, and how far the outbox was searched for them.
#[derive(Debug, Clone, PartialEq)]
pub struct EventPage {
    /// The events that pass the filter, in order.
    pub events: Vec<Event>,
    /// Where to go on: every event up to here was looked at, those of others included.
    pub cursor: EventCursor,
}

/// The outbox. A reader that goes on from the last cursor it saw misses nothing that was
/// committed, whatever order the transactions finished in.
#[async_trait]
pub trait EventStore {
    /// Adds an event to the transaction.
    async fn event_append(&mut self, event: &NewEvent) -> Result<(), Error>;
    /// Events after `cursor`, in order.
    async fn event_list(
        &mut self,
        cursor: EventCursor,
        filter: EventFilter,
        limit: u32,
    ) -> Result<Vec<Event>, Error>;
    /// Events after `cursor`, in order, and where to go on. A reader whose filter passes nothing advances
    /// to the newest event all the same.
    async fn event_page(
        &mut self,
        cursor: EventCursor,
        filter: EventFilter,
        limit: u32,
    ) -> Result<EventPage, Error>;
    /// How the engine would find these events, in its own words.
    async fn event_list_plan(&mut self, filter: EventFilter) -> Result<String, Error>;
    /// The place of the newest event.
    async fn event_latest(&mut self) -> Result<EventCursor, Error>;
}

#[async_trait]
impl EventStore for Tx {
    async fn event_append(&mut self, event: &NewEvent) -> Result<(), Error> {
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

    async fn event_list(
        &mut self,
        cursor: EventCursor,
        filter: EventFilter,
        limit: u32,
    ) -> Result<Vec<Event>, Error> {
        let (sql, params) = list_statement(cursor, filter, limit, self.is_sqlite());
        self.page(&tables::EVENTS, sql, &params, event).await
    }

    async fn event_page(
        &mut self,
        cursor: EventCursor,
        filter: EventFilter,
        limit: u32,
    ) -> Result<EventPage, Error> {
        let events = self.event_list(cursor, filter, limit).await?;
        let is_full = u32::try_from(events.len()).is_ok_and(|found| found >= limit);
        let last = match events.last() {
            Some(last) if is_full => last.cursor,
            // One view of the data: what is newest now was looked at above.
            _ => self.event_latest().await?.max(cursor),
        };
        Ok(EventPage { events, cursor: last })
    }

    async fn event_list_plan(&mut self, filter: EventFilter) -> Result<String, Error> {
        let start = EventCursor::default();
        let (sql, params) = list_statement(start, filter, 200, self.is_sqlite());
        self.plan(sql, &params).await
    }

    async fn event_latest(&mut self) -> Result<EventCursor, Error> {
        let sql = if self.is_sqlite() {
            "SELECT txid, seq FROM committed_events ORDER BY seq DESC LIMIT 1"
        } else {
            "SELECT txid, seq FROM committed_events ORDER BY txid DESC, seq DESC LIMIT 1"
        };
        self.row(sql, &[]).await?.as_ref().map_or(Ok(EventCursor::default()), cursor)
    }
}

/// A statement for each filter and engine, so that none reads an event that it does not give out. On
/// SQLite the sequence alone is the order. On PostgreSQL a range over all columns of an index is read:
/// with an equality the server might walk the order of commits instead and filter.
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

pub(crate) fn event(row: &Row) -> Result<Event, Error> {
    Ok(Event {
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

impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.transaction, self.sequence)
    }
}

/// The text is not an event id that we gave out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is not an event id")]
pub struct NotACursor(String);

impl FromStr for EventCursor {
    type Err = NotACursor;

    /// Reads what [`fmt::Display`] wrote; `0` is the beginning.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "0" {
            return Ok(Self::default());
        }
        let parts = text.split_once('-').and_then(|(transaction, sequence)| {
            Some((transaction.parse().ok()?, sequence.parse().ok()?))
        });
        match parts {
            Some((transaction, sequence)) => Ok(Self { transaction, sequence }),
            None => Err(NotACursor(text.to_owned())),
        }
    }
}
