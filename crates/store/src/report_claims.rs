//! Claims of messages to the project manager: one process at a time processes a message, until its claim
//! expires.
//!
//! Invariants: only the newest claim of a report can write to it. An attempt is counted before it starts. A
//! report waits while an earlier report of its task is claimed. All times are those of the database.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{MessageId, TaskId};

use crate::agent_messages::message;
use crate::quarantine::{not_quarantined, tables};
use crate::{AgentMessage, Error, Tx};
use cynode_sql::Row;
use cynode_sql::{Param, params};

/// The right to process a report, until another process claims it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportClaim {
    pub message: MessageId,
    /// The number of claims of this report so far, including this one.
    pub turn: u32,
}

/// A claimed report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedReport {
    pub message: AgentMessage,
    pub claim: ReportClaim,
    /// The number of attempts to process it, including this one.
    pub attempts: u32,
}

/// Whether a released claim counts as an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptStarted {
    /// Processing started, or may have.
    Yes,
    /// Processing did not start, because the project manager was unavailable.
    No,
}

/// Claims of messages to the project manager.
impl Tx {
    /// Whether there is a message to claim or to close.
    pub async fn report_has_pending(&mut self) -> Result<bool, Error> {
        let readable = not_quarantined("agent_messages", "m.id");
        let sql = format!(
            "SELECT m.id FROM agent_messages m JOIN tasks t ON t.id = m.task_id
                   WHERE {readable} AND m.recipient = 'pm' AND m.processed_at IS NULL
                   AND (t.closed OR (m.given_up IS NULL AND m.needs_person IS NULL
                       AND (m.claimed_until IS NULL OR m.claimed_until <= cynode_now())))
                   LIMIT 1"
        );
        Ok(self.row(&sql, &[]).await?.is_some())
    }

    /// Marks every message about a closed task as processed. Returns how many.
    pub async fn report_close_ended(&mut self, at: DateTime<Utc>) -> Result<u64, Error> {
        let sql = "UPDATE agent_messages SET processed_at = $1
                   WHERE recipient = 'pm' AND processed_at IS NULL AND EXISTS (
                       SELECT t.id FROM tasks t WHERE t.id = agent_messages.task_id AND t.closed)";
        self.execute(sql, params![at]).await
    }

    /// Claims the oldest message about an open task that is neither claimed nor left to a person, for
    /// `lease_ms` milliseconds. Tasks in `in_flight` are skipped, even if their claims have expired: the caller
    /// is already processing a message of each.
    pub async fn report_claim(
        &mut self,
        lease_ms: i64,
        in_flight: &[TaskId],
    ) -> Result<Option<ClaimedReport>, Error> {
        let mut params = vec![Param::from(lease_ms)];
        let mut not_in_flight = String::new();
        for task in in_flight {
            params.push(Param::from(*task));
            let _ = write!(not_in_flight, " AND m.task_id <> ${}", params.len());
        }
        let (readable, others_readable) =
            (not_quarantined("agent_messages", "m.id"), not_quarantined("agent_messages", "e.id"));
        let sql = format!(
            "UPDATE agent_messages
                   SET turns = turns + 1, begun = begun + 1, claimed_until = cynode_after($1)
                   WHERE id IN (SELECT m.id FROM agent_messages m JOIN tasks t ON t.id = m.task_id
                       WHERE {readable} AND m.recipient = 'pm' AND m.processed_at IS NULL
                       AND m.given_up IS NULL AND m.needs_person IS NULL AND NOT t.closed
                       AND (m.claimed_until IS NULL OR m.claimed_until <= cynode_now())
                       {not_in_flight}
                       AND NOT EXISTS (SELECT e.id FROM agent_messages e
                           WHERE e.task_id = m.task_id AND e.recipient = 'pm'
                           AND e.processed_at IS NULL AND e.claimed_until > cynode_now()
                           AND {others_readable})
                       ORDER BY m.id LIMIT 1 /*pg FOR UPDATE OF m SKIP LOCKED */)
                   RETURNING *"
        );
        // Serialises claims: a concurrent claim must see this one, or it would claim the next report of the
        // same task. SQLite has one writer and reads the lock as a comment.
        self.rows("SELECT 1 AS one /*pg , pg_advisory_xact_lock(6299002) */", &[]).await?;
        loop {
            match self.one(&tables::AGENT_MESSAGES, &sql, &params, claimed).await {
                // A quarantined row is not claimed again, and delays no other.
                Err(error) if error.is_unreadable() => self.quarantine_now(error).await?,
                outcome => return outcome,
            }
        }
    }

    /// Extends a claim to this many milliseconds from now; returns false if it is lost.
    pub async fn report_extend(
        &mut self,
        claim: ReportClaim,
        lease_ms: i64,
    ) -> Result<bool, Error> {
        let sql = "UPDATE agent_messages SET claimed_until = cynode_after($3)
                   WHERE id = $1 AND turns = $2 AND processed_at IS NULL AND given_up IS NULL";
        Ok(self.execute(sql, params![claim.message, claim.turn, lease_ms]).await? == 1)
    }

    /// Releases a claim and delays the next one for this many milliseconds; returns false if it is lost.
    pub async fn report_release(
        &mut self,
        claim: ReportClaim,
        wait_ms: i64,
        began: AttemptStarted,
    ) -> Result<bool, Error> {
        let sql = "UPDATE agent_messages SET claimed_until = cynode_after($3),
                   begun = begun - CASE WHEN $4 THEN 0 ELSE 1 END
                   WHERE id = $1 AND turns = $2 AND processed_at IS NULL AND given_up IS NULL";
        let params = params![claim.message, claim.turn, wait_ms, began == AttemptStarted::Yes];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Abandons the report for good, with a reason; returns false if the claim is lost.
    pub async fn report_abandon(&mut self, claim: ReportClaim, why: &str) -> Result<bool, Error> {
        let sql = "UPDATE agent_messages SET given_up = $3, claimed_until = NULL
                   WHERE id = $1 AND turns = $2 AND processed_at IS NULL AND given_up IS NULL";
        Ok(self.execute(sql, params![claim.message, claim.turn, why]).await? == 1)
    }

    /// Escalates the message to a person with a reason; returns false if the claim is lost.
    pub async fn report_escalate(&mut self, claim: ReportClaim, why: &str) -> Result<bool, Error> {
        let sql = "UPDATE agent_messages SET needs_person = $3, claimed_until = NULL
                   WHERE id = $1 AND turns = $2 AND processed_at IS NULL AND needs_person IS NULL";
        Ok(self.execute(sql, params![claim.message, claim.turn, why]).await? == 1)
    }

    /// Marks the report as processed; returns false if the claim is lost.
    pub async fn report_complete(
        &mut self,
        claim: ReportClaim,
        at: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE agent_messages SET processed_at = $3
                   WHERE id = $1 AND turns = $2 AND processed_at IS NULL";
        Ok(self.execute(sql, params![claim.message, claim.turn, at]).await? == 1)
    }
}

pub(crate) fn claimed(row: &Row) -> Result<ClaimedReport, Error> {
    let message = message(row)?;
    let claim = ReportClaim { message: message.sent.id, turn: row.count("turns")? };
    Ok(ClaimedReport { message, claim, attempts: row.count("begun")? })
}
