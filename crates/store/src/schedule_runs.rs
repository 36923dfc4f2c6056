//! Times at which schedules came due, and who deals with them.
//!
//! Invariants: a due time of a schedule has one row. Of those who claim a row one after the other, only
//! the last can write to it. The tasks of a run are made once, whoever tries again. A run whose tasks are
//! open is not forgotten. All times are the database's.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{ScheduleId, ScheduleRunId, TaskId};
use cynode_domain::schedule::ScheduleRunStatus;
use cynode_domain::status::TaskStatus;

use crate::column::Row;
use crate::param::params;
use crate::quarantine::{not_quarantined, tables};
use crate::{Error, Tx};

/// One time at which a schedule came due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRun {
    /// The run's id.
    pub id: ScheduleRunId,
    /// Of which schedule.
    pub schedule: ScheduleId,
    /// When it came due.
    pub due_at: DateTime<Utc>,
    /// Whether a person asked for it, and not the clock.
    pub is_manual: bool,
    /// How far it has come.
    pub status: ScheduleRunStatus,
    /// What was done, or why not, for people.
    pub summary: String,
    /// How often it was claimed.
    pub attempts: u32,
    /// How often somebody began with it and failed.
    pub failures: u32,
    /// How often it was put off because nobody was there.
    pub put_off: u32,
    /// How often it was given back by somebody who had to stop.
    pub given_back: u32,
    /// When its tasks were made, if they were made all at once.
    pub made_at: Option<DateTime<Utc>>,
    /// When it was noticed.
    pub created_at: DateTime<Utc>,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
}

impl ScheduleRun {
    /// How often it was claimed before by somebody who recorded nothing: who died of it, most likely.
    pub fn lost(&self) -> u32 {
        let recorded = self.failures.saturating_add(self.put_off).saturating_add(self.given_back);
        self.attempts.saturating_sub(1).saturating_sub(recorded)
    }
}

/// A run on its way in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewScheduleRun {
    /// The run's id.
    pub id: ScheduleRunId,
    /// Of which schedule.
    pub schedule: ScheduleId,
    /// When it came due; now, if absent.
    pub due_at: Option<DateTime<Utc>>,
    /// Whether a person asked for it.
    pub is_manual: bool,
    /// Why nothing is to be done, if so.
    pub skipped: Option<String>,
}

/// The right to deal with a run, until somebody else claims it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduleClaim {
    /// The run.
    pub run: ScheduleRunId,
    /// How often it had been claimed with this claim.
    pub attempt: u32,
}

/// Why a claim is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PutOff {
    /// Nobody was there to do it.
    Away,
    /// Somebody began, and failed.
    Failed,
    /// Whoever had it had to stop: that says nothing of the run.
    GivenBack,
}

/// A task that was made for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledTask {
    /// The run.
    pub run: ScheduleRunId,
    /// The task.
    pub task: TaskId,
    /// Its name.
    pub name: String,
    /// Where it stands.
    pub status: TaskStatus,
}

/// Runs of schedules.
#[async_trait]
pub trait ScheduleRunStore {
    /// Adds a run that can be claimed at once, or that is skipped; false if there is one of that time.
    async fn schedule_run_insert(&mut self, run: &NewScheduleRun) -> Result<bool, Error>;
    /// The run with this id.
    async fn schedule_run_get(&mut self, id: ScheduleRunId) -> Result<Option<ScheduleRun>, Error>;
    /// A page of a schedule's runs, newest first, older than `before`.
    async fn schedule_run_list(
        &mut self,
        schedule: ScheduleId,
        before: Option<ScheduleRunId>,
        limit: u32,
    ) -> Result<Vec<ScheduleRun>, Error>;
    /// Forgets all but the newest `keep` of a schedule's runs that have ended and whose tasks have.
    async fn schedule_run_forget(&mut self, schedule: ScheduleId, keep: u32) -> Result<u64, Error>;
    /// Claims open runs that nobody deals with for so many milliseconds. Owners take turns: those come
    /// first for whom the fewest runs are handed over, and of one owner's those that wait longest.
    async fn schedule_run_claim(
        &mut self,
        lease_ms: i64,
        limit: u32,
    ) -> Result<Vec<ScheduleRun>, Error>;
    /// Keeps a claim for so many milliseconds from now, saying how far the run has come; false if the
    /// claim is lost.
    async fn schedule_run_keep(
        &mut self,
        claim: ScheduleClaim,
        status: ScheduleRunStatus,
        lease_ms: i64,
    ) -> Result<bool, Error>;
    /// Gives a claim up for so many milliseconds, says why and as what it counts; false if the claim is
    /// lost.
    async fn schedule_run_retry(
        &mut self,
        claim: ScheduleClaim,
        wait_ms: i64,
        (why, counts): (&str, PutOff),
    ) -> Result<bool, Error>;
    /// Ends a run; false if the claim is lost.
    async fn schedule_run_end(
        &mut self,
        claim: ScheduleClaim,
        status: ScheduleRunStatus,
        summary: &str,
    ) -> Result<bool, Error>;
}

/// Tasks of runs.
#[async_trait]
pub trait ScheduledTaskStore {
    /// Takes the one right to make the tasks of an open run, together with which they have to be made;
    /// false if they were made, or the run has ended.
    async fn schedule_run_make(&mut self, run: ScheduleRunId) -> Result<bool, Error>;
    /// Notes that a task was made for a run; noting it twice changes nothing.
    async fn scheduled_task_add(&mut self, run: ScheduleRunId, task: TaskId) -> Result<(), Error>;
    /// The tasks of a schedule's runs from `first` to `last`, oldest first.
    async fn scheduled_task_list(
        &mut self,
        schedule: ScheduleId,
        (first, last): (ScheduleRunId, ScheduleRunId),
    ) -> Result<Vec<ScheduledTask>, Error>;
}

#[async_trait]
impl ScheduleRunStore for Tx {
    async fn schedule_run_insert(&mut self, run: &NewScheduleRun) -> Result<bool, Error> {
        let sql = "INSERT INTO schedule_runs (id, schedule_id, due_at, is_manual, status, summary,
                   attempts, claimed_until, created_at, ended_at)
                   VALUES ($1, $2, coalesce($3 /*pg ::timestamptz */, cynode_now()), $4, $5, $6, $7,
                       cynode_now(), cynode_now(), CASE WHEN $8 THEN cynode_now() ELSE NULL END)
                   ON CONFLICT DO NOTHING";
        let status = match run.skipped {
            Some(_) => ScheduleRunStatus::Skipped,
            None => ScheduleRunStatus::Claimed,
        };
        let params = params![
            run.id,
            run.schedule,
            run.due_at,
            run.is_manual,
            status.as_str(),
            run.skipped.clone().unwrap_or_default(),
            0_u32,
            run.skipped.is_some(),
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    async fn schedule_run_get(&mut self, id: ScheduleRunId) -> Result<Option<ScheduleRun>, Error> {
        let sql = "SELECT * FROM schedule_runs WHERE id = $1";
        self.one(&tables::SCHEDULE_RUNS, sql, params![id], run).await
    }

    async fn schedule_run_list(
        &mut self,
        schedule: ScheduleId,
        before: Option<ScheduleRunId>,
        limit: u32,
    ) -> Result<Vec<ScheduleRun>, Error> {
        let sql = "SELECT * FROM schedule_runs WHERE schedule_id = $1
                   AND ($2 /*pg ::uuid */ IS NULL OR id < $2) ORDER BY id DESC LIMIT $3";
        self.page(&tables::SCHEDULE_RUNS, sql, params![schedule, before, limit], run).await
    }

    async fn schedule_run_forget(&mut self, schedule: ScheduleId, keep: u32) -> Result<u64, Error> {
        let sql = "DELETE FROM schedule_runs WHERE schedule_id = $1 AND ended_at IS NOT NULL
                   AND NOT EXISTS (
                       SELECT t.task_id FROM schedule_run_tasks t JOIN tasks k ON k.id = t.task_id
                       WHERE t.run_id = schedule_runs.id AND NOT k.closed)
                   AND id <= (SELECT id FROM schedule_runs WHERE schedule_id = $1
                       ORDER BY id DESC LIMIT 1 OFFSET $2)";
        self.execute(sql, params![schedule, keep]).await
    }

    async fn schedule_run_claim(
        &mut self,
        lease_ms: i64,
        limit: u32,
    ) -> Result<Vec<ScheduleRun>, Error> {
        let readable = not_quarantined("schedule_runs", "w.id");
        let sql = format!(
            "UPDATE schedule_runs
                   SET attempts = attempts + 1, claimed_until = cynode_after($1)
                   WHERE id IN (SELECT r.id FROM schedule_runs r JOIN (
                           SELECT w.id, coalesce(h.runs, 0) + row_number() OVER (
                               PARTITION BY s.owner_id ORDER BY w.claimed_until, w.id) AS turn
                           FROM schedule_runs w JOIN schedules s ON s.id = w.schedule_id
                           LEFT JOIN (SELECT o.owner_id, count(*) AS runs
                               FROM schedule_runs b JOIN schedules o ON o.id = b.schedule_id
                               WHERE b.ended_at IS NULL AND b.status = $3
                               AND b.claimed_until > cynode_now()
                               GROUP BY o.owner_id) h ON h.owner_id = s.owner_id
                           WHERE w.ended_at IS NULL AND w.claimed_until <= cynode_now()
                           AND {readable}
                       ) q ON q.id = r.id
                       WHERE r.ended_at IS NULL AND r.claimed_until <= cynode_now()
                       ORDER BY q.turn, r.claimed_until
                       LIMIT $2 /*pg FOR UPDATE OF r SKIP LOCKED */)
                   RETURNING *"
        );
        let handed = ScheduleRunStatus::HandedOver.as_str();
        self.list(&tables::SCHEDULE_RUNS, &sql, params![lease_ms, limit, handed], run).await
    }

    async fn schedule_run_keep(
        &mut self,
        claim: ScheduleClaim,
        status: ScheduleRunStatus,
        lease_ms: i64,
    ) -> Result<bool, Error> {
        let sql = "UPDATE schedule_runs SET status = $3, claimed_until = cynode_after($4)
                   WHERE id = $1 AND attempts = $2 AND ended_at IS NULL";
        let params = params![claim.run, claim.attempt, status.as_str(), lease_ms];
        Ok(self.execute(sql, params).await? == 1)
    }

    async fn schedule_run_retry(
        &mut self,
        claim: ScheduleClaim,
        wait_ms: i64,
        (why, counts): (&str, PutOff),
    ) -> Result<bool, Error> {
        let sql = "UPDATE schedule_runs SET status = $3, claimed_until = cynode_after($4),
                   summary = $5, failures = failures + CASE WHEN $6 THEN 1 ELSE 0 END,
                   put_off = put_off + CASE WHEN $7 THEN 1 ELSE 0 END,
                   given_back = given_back + CASE WHEN $8 THEN 1 ELSE 0 END
                   WHERE id = $1 AND attempts = $2 AND ended_at IS NULL";
        let waiting = ScheduleRunStatus::Claimed.as_str();
        let is = |other| counts == other;
        let params = params![
            claim.run,
            claim.attempt,
            waiting,
            wait_ms,
            why,
            is(PutOff::Failed),
            is(PutOff::Away),
            is(PutOff::GivenBack),
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    async fn schedule_run_end(
        &mut self,
        claim: ScheduleClaim,
        status: ScheduleRunStatus,
        summary: &str,
    ) -> Result<bool, Error> {
        let sql = "UPDATE schedule_runs SET status = $3, summary = $4, ended_at = cynode_now()
                   WHERE id = $1 AND attempts = $2 AND ended_at IS NULL";
        let params = params![claim.run, claim.attempt, status.as_str(), summary];
        Ok(self.execute(sql, params).await? == 1)
    }
}

#[async_trait]
impl ScheduledTaskStore for Tx {
    async fn schedule_run_make(&mut self, run: ScheduleRunId) -> Result<bool, Error> {
        let sql = "UPDATE schedule_runs SET made_at = cynode_now()
                   WHERE id = $1 AND made_at IS NULL AND ended_at IS NULL";
        Ok(self.execute(sql, params![run]).await? == 1)
    }

    async fn scheduled_task_add(&mut self, run: ScheduleRunId, task: TaskId) -> Result<(), Error> {
        // Nothing is noted for a run whose schedule was deleted meanwhile.
        let sql = "INSERT INTO schedule_run_tasks (run_id, task_id)
                   SELECT r.id, k.id FROM schedule_runs r, tasks k WHERE r.id = $1 AND k.id = $2
                   ON CONFLICT DO NOTHING";
        self.execute(sql, params![run, task]).await.map(drop)
    }

    async fn scheduled_task_list(
        &mut self,
        schedule: ScheduleId,
        (first, last): (ScheduleRunId, ScheduleRunId),
    ) -> Result<Vec<ScheduledTask>, Error> {
        let sql = "SELECT t.run_id, k.id, k.name, k.status FROM schedule_runs r
                   JOIN schedule_run_tasks t ON t.run_id = r.id JOIN tasks k ON k.id = t.task_id
                   WHERE r.schedule_id = $1 AND r.id >= $2 AND r.id <= $3 ORDER BY k.id";
        let task = |row: &Row| {
            Ok(ScheduledTask {
                run: row.id("run_id")?,
                task: row.id("id")?,
                name: row.get("name")?,
                status: row.word("status")?,
            })
        };
        self.list(&tables::TASKS, sql, params![schedule, first, last], task).await
    }
}

pub(crate) fn run(row: &Row) -> Result<ScheduleRun, Error> {
    Ok(ScheduleRun {
        id: row.id("id")?,
        schedule: row.id("schedule_id")?,
        due_at: row.get("due_at")?,
        is_manual: row.get("is_manual")?,
        status: row.word("status")?,
        summary: row.get("summary")?,
        attempts: row.count("attempts")?,
        failures: row.count("failures")?,
        put_off: row.count("put_off")?,
        given_back: row.count("given_back")?,
        made_at: row.get("made_at")?,
        created_at: row.get("created_at")?,
        ended_at: row.get("ended_at")?,
    })
}
