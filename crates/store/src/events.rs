//! The outbox: what happened, readable in the order of commits.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{JobId, ProjectId, RunId, TaskId, UserId};
use serde_json::Value;

use crate::column::Row;
use crate::param::params;
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
        // Two statements, so that each engine plans for its own index.
        let sql = match filter.task {
            Some(_) => {
                "SELECT * FROM committed_events
                 WHERE task_id = $4 AND (txid, seq) > ($1, $2)
                 AND ($3 /*pg ::uuid */ IS NULL OR owner_id = $3)
                 ORDER BY txid, seq LIMIT $5"
            }
            None => {
                "SELECT * FROM committed_events
                 WHERE (txid, seq) > ($1, $2)
                 AND ($3 /*pg ::uuid */ IS NULL OR owner_id = $3)
                 AND $4 /*pg ::uuid */ IS NULL
                 ORDER BY txid, seq LIMIT $5"
            }
        };
        let params = params![cursor.transaction, cursor.sequence, filter.owner, filter.task, limit];
        self.rows(sql, params).await?.iter().map(event).collect()
    }

    async fn event_latest(&mut self) -> Result<EventCursor, Error> {
        let sql = "SELECT txid, seq FROM committed_events ORDER BY txid DESC, seq DESC LIMIT 1";
        self.row(sql, &[]).await?.as_ref().map_or(Ok(EventCursor::default()), cursor)
    }
}

fn cursor(row: &Row) -> Result<EventCursor, Error> {
    Ok(EventCursor { transaction: row.get("txid")?, sequence: row.get("seq")? })
}

fn event(row: &Row) -> Result<Event, Error> {
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
