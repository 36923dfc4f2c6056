//! What the clock brings: which schedules have come due, and how long until the next does.
//!
//! Invariant: a row that this version cannot read keeps no other from coming due.

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use cynode_domain::ids::ScheduleId;

use crate::column::Row;
use crate::param::params;
use crate::quarantine::{not_quarantined, tables};
use crate::schedules::schedule;
use crate::{Error, Schedule, Tx};

/// A schedule whose time has come.
#[derive(Debug)]
pub struct DueSchedule {
    /// Which.
    pub id: ScheduleId,
    /// By which time that was told.
    pub now: DateTime<Utc>,
    /// The schedule, unless this version cannot read it.
    pub schedule: Result<Schedule, Error>,
}

/// How long there is to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduleAhead {
    /// Until a schedule comes due; none if no schedule ever does.
    pub due: Option<TimeDelta>,
    /// Until an open run can be claimed; none if there is no open run.
    pub run: Option<TimeDelta>,
}

/// What the clock brings.
#[async_trait]
pub trait DueStore {
    /// Schedules whose time has come, locked until the transaction ends. Those that somebody else has
    /// locked are left to them.
    async fn schedule_due(&mut self, limit: u32) -> Result<Vec<DueSchedule>, Error>;
    /// Moves a schedule from its due time to the next; false if it was moved already.
    async fn schedule_advance(
        &mut self,
        id: ScheduleId,
        from: DateTime<Utc>,
        to: Option<DateTime<Utc>>,
    ) -> Result<bool, Error>;
    /// Pauses a schedule, whatever else its row holds.
    async fn schedule_pause(&mut self, id: ScheduleId) -> Result<(), Error>;
    /// How many runs of a schedule are open: those that have not ended, and those with a task that is
    /// open.
    async fn schedule_open_runs(&mut self, id: ScheduleId) -> Result<u32, Error>;
    /// How many times to come are dealt with already, because somebody wanted them skipped.
    async fn schedule_skipped_ahead(&mut self, id: ScheduleId) -> Result<u32, Error>;
    /// How long until something comes due or can be claimed.
    async fn schedule_wait(&mut self) -> Result<ScheduleAhead, Error>;
    /// The time of the database.
    async fn schedule_now(&mut self) -> Result<DateTime<Utc>, Error>;
}

#[async_trait]
impl DueStore for Tx {
    async fn schedule_due(&mut self, limit: u32) -> Result<Vec<DueSchedule>, Error> {
        let sql = "SELECT s.*, cynode_now() AS now FROM schedules s
                   WHERE s.next_due_at <= cynode_now() AND s.is_enabled
                   ORDER BY s.next_due_at LIMIT $1 /*pg FOR UPDATE SKIP LOCKED */";
        let rows = self.rows(sql, params![limit]).await?;
        let due = |row: &Row| {
            let schedule = self.decode(&tables::SCHEDULES, row, schedule);
            Ok(DueSchedule { id: row.id("id")?, now: row.get("now")?, schedule })
        };
        Ok(self.readable(&tables::SCHEDULES, &rows, due))
    }

    async fn schedule_advance(
        &mut self,
        id: ScheduleId,
        from: DateTime<Utc>,
        to: Option<DateTime<Utc>>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE schedules SET next_due_at = $3 WHERE id = $1 AND next_due_at = $2";
        Ok(self.execute(sql, params![id, from, to]).await? == 1)
    }

    async fn schedule_pause(&mut self, id: ScheduleId) -> Result<(), Error> {
        let sql = "UPDATE schedules SET is_enabled = $2, next_due_at = NULL,
                   updated_at = cynode_now() WHERE id = $1";
        self.execute(sql, params![id, false]).await.map(drop)
    }

    async fn schedule_open_runs(&mut self, id: ScheduleId) -> Result<u32, Error> {
        let sql = "SELECT count(*) AS found FROM schedule_runs r WHERE r.schedule_id = $1
                   AND (r.ended_at IS NULL OR EXISTS (
                       SELECT t.task_id FROM schedule_run_tasks t JOIN tasks k ON k.id = t.task_id
                       WHERE t.run_id = r.id AND NOT k.closed))";
        self.row(sql, params![id]).await?.map_or(Ok(0), |row| row.count("found"))
    }

    async fn schedule_skipped_ahead(&mut self, id: ScheduleId) -> Result<u32, Error> {
        let sql = "SELECT count(*) AS found FROM schedule_runs
                   WHERE schedule_id = $1 AND due_at > cynode_now()";
        self.row(sql, params![id]).await?.map_or(Ok(0), |row| row.count("found"))
    }

    async fn schedule_wait(&mut self) -> Result<ScheduleAhead, Error> {
        let readable = not_quarantined("schedule_runs", "schedule_runs.id");
        let sql = format!(
            "SELECT cynode_now() AS now,
             (SELECT min(next_due_at) FROM schedules WHERE next_due_at IS NOT NULL) AS due,
             (SELECT min(claimed_until) FROM schedule_runs
              WHERE ended_at IS NULL AND {readable}) AS run"
        );
        let row = self.row(&sql, &[]).await?.ok_or(Error::Closed)?;
        let now: DateTime<Utc> = row.get("now")?;
        let until = |at: Option<DateTime<Utc>>| at.map(|at| (at - now).max(TimeDelta::zero()));
        Ok(ScheduleAhead { due: until(row.get("due")?), run: until(row.get("run")?) })
    }

    async fn schedule_now(&mut self) -> Result<DateTime<Utc>, Error> {
        let row = self.row("SELECT cynode_now() AS now", &[]).await?;
        row.ok_or(Error::Closed)?.get("now")
    }
}
