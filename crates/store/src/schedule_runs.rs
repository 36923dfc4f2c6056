//! Runs of schedules, one per due time, and the claims on them.
//!
//! Invariants: a due time of a schedule has one row. Only the newest claim of a row can write to it. The tasks
//! of a run are created once, however often it is retried. A run with open tasks is not deleted. All times are
//! those of the database.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ScheduleId, ScheduleRunId, TaskId};
use cynode_domain::schedule::ScheduleRunStatus;
use cynode_domain::status::TaskStatus;

use crate::quarantine::{not_quarantined, tables};
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// One due time of a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleRun {
    pub id: ScheduleRunId,
    pub schedule: ScheduleId,
    pub due_at: DateTime<Utc>,
    /// Whether a person triggered it, and not the clock.
    pub is_manual: bool,
    pub status: ScheduleRunStatus,
    /// What was done, or why not, for people.
    pub summary: String,
    /// The number of claims.
    pub attempts: u32,
    /// The number of attempts that failed.
    pub failures: u32,
    /// How often it was delayed because the project manager was unavailable.
    pub delays: u32,
    /// How often its claim was released by a process that shut down.
    pub releases: u32,
    /// When its tasks were created, if they were created in one transaction.
    pub made_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub ended_at: Option<DateTime<Utc>>,
}

impl ScheduleRun {
    /// The number of earlier claims without a recorded result: their processes probably crashed.
    pub fn lost_claims(&self) -> u32 {
        let recorded = self.failures.saturating_add(self.delays).saturating_add(self.releases);
        self.attempts.saturating_sub(1).saturating_sub(recorded)
    }
}

/// A schedule run to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewScheduleRun {
    pub id: ScheduleRunId,
    pub schedule: ScheduleId,
    /// Now if absent.
    pub due_at: Option<DateTime<Utc>>,
    /// Whether a person triggered it.
    pub is_manual: bool,
    /// The reason, if the run is to be skipped.
    pub skip_reason: Option<String>,
}

/// The right to process a run, until another process claims it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduleClaim {
    pub run: ScheduleRunId,
    /// The number of claims so far, including this one.
    pub attempt: u32,
}

/// Why a claim is released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseReason {
    /// The project manager was unavailable.
    ManagerUnavailable,
    /// The attempt failed.
    Failed,
    /// The process shut down: not a failure of the run.
    Shutdown,
}

/// A task that was created for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduledTask {
    pub run: ScheduleRunId,
    pub task: TaskId,
    pub name: String,
    pub status: TaskStatus,
}

/// Runs of schedules.
impl Tx {
    /// Adds a run that can be claimed at once, or that is skipped; returns false if there is one for its due
    /// time.
    pub async fn schedule_run_insert(&mut self, run: &NewScheduleRun) -> Result<bool, Error> {
        let sql = "INSERT INTO schedule_runs (id, schedule_id, due_at, is_manual, status, summary,
                   attempts, claimed_until, created_at, ended_at)
                   VALUES ($1, $2, coalesce($3 /*pg ::timestamptz */, cynode_now()), $4, $5, $6, $7,
                       cynode_now(), cynode_now(), CASE WHEN $8 THEN cynode_now() ELSE NULL END)
                   ON CONFLICT DO NOTHING";
        let status = match run.skip_reason {
            Some(_) => ScheduleRunStatus::Skipped,
            None => ScheduleRunStatus::Claimed,
        };
        let params = params![
            run.id,
            run.schedule,
            run.due_at,
            run.is_manual,
            status.as_str(),
            run.skip_reason.clone().unwrap_or_default(),
            0_u32,
            run.skip_reason.is_some(),
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    pub async fn schedule_run_get(
        &mut self,
        id: ScheduleRunId,
    ) -> Result<Option<ScheduleRun>, Error> {
        let sql = "SELECT * FROM schedule_runs WHERE id = $1";
        self.one(&tables::SCHEDULE_RUNS, sql, params![id], run).await
    }

    /// Lists a page of a schedule's runs, newest first, older than `before`.
    pub async fn schedule_run_list(
        &mut self,
        schedule: ScheduleId,
        before: Option<ScheduleRunId>,
        limit: u32,
    ) -> Result<Vec<ScheduleRun>, Error> {
        let sql = "SELECT * FROM schedule_runs WHERE schedule_id = $1
                   AND ($2 /*pg ::uuid */ IS NULL OR id < $2) ORDER BY id DESC LIMIT $3";
        self.page(&tables::SCHEDULE_RUNS, sql, params![schedule, before, limit], run).await
    }

    /// Deletes all but the newest `keep` of a schedule's runs that have ended and whose tasks are closed.
    pub async fn schedule_run_delete_old(
        &mut self,
        schedule: ScheduleId,
        keep: u32,
    ) -> Result<u64, Error> {
        let sql = "DELETE FROM schedule_runs WHERE schedule_id = $1 AND ended_at IS NOT NULL
                   AND NOT EXISTS (
                       SELECT t.task_id FROM schedule_run_tasks t JOIN tasks k ON k.id = t.task_id
                       WHERE t.run_id = schedule_runs.id AND NOT k.closed)
                   AND id <= (SELECT id FROM schedule_runs WHERE schedule_id = $1
                       ORDER BY id DESC LIMIT 1 OFFSET $2)";
        self.execute(sql, params![schedule, keep]).await
    }

    /// Claims open, unclaimed runs for this many milliseconds. Fair between owners: runs of the owner with the
    /// fewest claimed runs come first, and of one owner those that wait longest.
    pub async fn schedule_run_claim(
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

    /// Extends a claim to this many milliseconds from now and updates the status of the run; returns false if
    /// the claim is lost.
    pub async fn schedule_run_renew(
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

    /// Releases a claim with a reason and delays the next one for this many milliseconds; returns false if the
    /// claim is lost.
    pub async fn schedule_run_release(
        &mut self,
        claim: ScheduleClaim,
        wait_ms: i64,
        why: &str,
        counts: ReleaseReason,
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
            is(ReleaseReason::Failed),
            is(ReleaseReason::ManagerUnavailable),
            is(ReleaseReason::Shutdown),
        ];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Ends a run; returns false if the claim is lost.
    pub async fn schedule_run_end(
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

/// Tasks of runs.
impl Tx {
    /// Acquires the right to create the tasks of an open run, in the transaction that creates them; returns
    /// false if they exist, or the run has ended.
    pub async fn schedule_run_mark_tasks_created(
        &mut self,
        run: ScheduleRunId,
    ) -> Result<bool, Error> {
        let sql = "UPDATE schedule_runs SET made_at = cynode_now()
                   WHERE id = $1 AND made_at IS NULL AND ended_at IS NULL";
        Ok(self.execute(sql, params![run]).await? == 1)
    }

    /// Records that a task was created for a run; idempotent.
    pub async fn scheduled_task_add(
        &mut self,
        run: ScheduleRunId,
        task: TaskId,
    ) -> Result<(), Error> {
        // No row is added if the schedule was deleted meanwhile.
        let sql = "INSERT INTO schedule_run_tasks (run_id, task_id)
                   SELECT r.id, k.id FROM schedule_runs r, tasks k WHERE r.id = $1 AND k.id = $2
                   ON CONFLICT DO NOTHING";
        self.execute(sql, params![run, task]).await.map(drop)
    }
}

pub(crate) fn run(row: &Row) -> Result<ScheduleRun, Error> {
    Ok(ScheduleRun {
        id: row.id("id")?,
        schedule: row.id("schedule_id")?,
        due_at: row.get("due_at")?,
        is_manual: row.get("is_manual")?,
        status: row.keyword("status")?,
        summary: row.get("summary")?,
        attempts: row.count("attempts")?,
        failures: row.count("failures")?,
        delays: row.count("put_off")?,
        releases: row.count("given_back")?,
        made_at: row.get("made_at")?,
        created_at: row.get("created_at")?,
        ended_at: row.get("ended_at")?,
    })
}
