//! Due schedules, and the time until the next one is due.
//!
//! Invariant: an undecodable row blocks no other schedule.

use chrono::{DateTime, TimeDelta, Utc};
use cynode_domain::ids::ScheduleId;

use crate::quarantine::{not_quarantined, tables};
use crate::schedules::schedule;
use crate::{Error, Schedule, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A schedule that is due.
#[derive(Debug)]
pub struct DueSchedule {
    pub id: ScheduleId,
    /// The database time at which it was found due.
    pub now: DateTime<Utc>,
    /// An error if the row cannot be decoded.
    pub schedule: Result<Schedule, Error>,
}

/// How long to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduleWait {
    /// Until the next schedule is due; `None` if there is none.
    pub due: Option<TimeDelta>,
    /// Until an open run can be claimed; `None` if there is none.
    pub run: Option<TimeDelta>,
}

impl Tx {
    /// Lists due schedules, locked until the transaction ends. Rows locked by others are skipped.
    pub async fn schedule_list_due(&mut self, limit: u32) -> Result<Vec<DueSchedule>, Error> {
        let sql = "SELECT s.*, cynode_now() AS now FROM schedules s
                   WHERE s.next_due_at <= cynode_now() AND s.is_enabled
                   ORDER BY s.next_due_at LIMIT $1 /*pg FOR UPDATE SKIP LOCKED */";
        let rows = self.rows(sql, params![limit]).await?;
        let due = |row: &Row| {
            let schedule = self.decode(&tables::SCHEDULES, row, schedule);
            Ok(DueSchedule { id: row.id("id")?, now: row.get("now")?, schedule })
        };
        Ok(self.decode_readable(&tables::SCHEDULES, &rows, due))
    }

    /// Advances a schedule from its due time to the next; returns false if it was already advanced.
    pub async fn schedule_advance(
        &mut self,
        id: ScheduleId,
        from: DateTime<Utc>,
        to: Option<DateTime<Utc>>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE schedules SET next_due_at = $3 WHERE id = $1 AND next_due_at = $2";
        Ok(self.execute(sql, params![id, from, to]).await? == 1)
    }

    /// Pauses a schedule, even if its row cannot be decoded.
    pub async fn schedule_pause(&mut self, id: ScheduleId) -> Result<(), Error> {
        let sql = "UPDATE schedules SET is_enabled = $2, next_due_at = NULL,
                   updated_at = cynode_now() WHERE id = $1";
        self.execute(sql, params![id, false]).await.map(drop)
    }

    /// Counts the open runs of a schedule: those that have not ended, and those with an open task.
    pub async fn schedule_count_open_runs(&mut self, id: ScheduleId) -> Result<u32, Error> {
        let sql = "SELECT count(*) AS found FROM schedule_runs r WHERE r.schedule_id = $1
                   AND (r.ended_at IS NULL OR EXISTS (
                       SELECT t.task_id FROM schedule_run_tasks t JOIN tasks k ON k.id = t.task_id
                       WHERE t.run_id = r.id AND NOT k.closed))";
        self.row(sql, params![id]).await?.map_or(Ok(0), |row| row.count("found"))
    }

    /// Counts the future due times that already have a run, because a user skipped them.
    pub async fn schedule_count_skipped_ahead(&mut self, id: ScheduleId) -> Result<u32, Error> {
        let sql = "SELECT count(*) AS found FROM schedule_runs
                   WHERE schedule_id = $1 AND due_at > cynode_now()";
        self.row(sql, params![id]).await?.map_or(Ok(0), |row| row.count("found"))
    }

    /// Returns how long until a schedule is due or a run can be claimed.
    pub async fn schedule_next_wait(&mut self) -> Result<ScheduleWait, Error> {
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
        Ok(ScheduleWait { due: until(row.get("due")?), run: until(row.get("run")?) })
    }

    /// Returns the time of the database.
    pub async fn schedule_now(&mut self) -> Result<DateTime<Utc>, Error> {
        let row = self.row("SELECT cynode_now() AS now", &[]).await?;
        row.ok_or(Error::Closed)?.get("now")
    }
}
