//! Who deals with a message of an agent to the project manager: one process at a time, for as long as its claim lasts.
//!
//! Invariants: of those who claim a report one after the other, only the last can write to it. That
//! somebody begins with it is counted before it begins. A report waits behind every earlier one of its
//! task that somebody deals with. All times are the database's.

use std::fmt::Write as _;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{MessageId, TaskId};

use crate::agent_messages::message;
use crate::column::Row;
use crate::param::{Param, params};
use crate::quarantine::{not_quarantined, tables};
use crate::{Error, Message, Tx};

/// The right to deal with a report, until somebody else claims it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportClaim {
    /// The report.
    pub message: MessageId,
    /// How often it had been claimed with this claim.
    pub turn: u32,
}

/// A report that is to be dealt with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedReport {
    /// The report.
    pub message: Message,
    /// The right to deal with it.
    pub claim: ReportClaim,
    /// How often somebody began with it, this time included.
    pub begun: u32,
}

/// Whether a claim that is given back counts as a beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Began {
    /// Somebody worked on it, or may have.
    Yes,
    /// Nobody was there to do so.
    No,
}

/// Claims of messages to the project manager.
#[async_trait]
pub trait ReportClaimStore {
    /// Whether there is anything to claim or to close.
    async fn report_waits(&mut self) -> Result<bool, Error>;
    /// The project manager is done with every message about a task that was closed meanwhile.
    async fn report_close(&mut self, at: DateTime<Utc>) -> Result<u64, Error>;
    /// Claims the oldest message about an open task that is neither claimed nor left to a person, for so many
    /// milliseconds. The caller already processes a message of each task in `in_hand`: it claims no other of
    /// these tasks, even if its claim has run out.
    async fn report_claim(
        &mut self,
        lease_ms: i64,
        in_hand: &[TaskId],
    ) -> Result<Option<ClaimedReport>, Error>;
    /// Keeps a claim for so many milliseconds from now; false if it is lost.
    async fn report_keep(&mut self, claim: ReportClaim, lease_ms: i64) -> Result<bool, Error>;
    /// Gives a claim back for so many milliseconds; false if it is lost.
    async fn report_put_off(
        &mut self,
        claim: ReportClaim,
        wait_ms: i64,
        began: Began,
    ) -> Result<bool, Error>;
    /// Nobody deals with the report any more, and why; false if the claim is lost.
    async fn report_give_up(&mut self, claim: ReportClaim, why: &str) -> Result<bool, Error>;
    /// Leaves the message to a person, who is told why; false if the claim is lost.
    async fn report_ask_person(&mut self, claim: ReportClaim, why: &str) -> Result<bool, Error>;
    /// The project manager is done with the report; false if the claim is lost.
    async fn report_end(&mut self, claim: ReportClaim, at: DateTime<Utc>) -> Result<bool, Error>;
}

#[async_trait]
impl ReportClaimStore for Tx {
    async fn report_waits(&mut self) -> Result<bool, Error> {
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

    async fn report_close(&mut self, at: DateTime<Utc>) -> Result<u64, Error> {
        let sql = "UPDATE agent_messages SET processed_at = $1
                   WHERE recipient = 'pm' AND processed_at IS NULL AND EXISTS (
                       SELECT t.id FROM tasks t WHERE t.id = agent_messages.task_id AND t.closed)";
        self.execute(sql, params![at]).await
    }

    async fn report_claim(
        &mut self,
        lease_ms: i64,
        in_hand: &[TaskId],
    ) -> Result<Option<ClaimedReport>, Error> {
        let mut params = vec![Param::from(lease_ms)];
        let mut not_in_hand = String::new();
        for task in in_hand {
            params.push(Param::from(*task));
            let _ = write!(not_in_hand, " AND m.task_id <> ${}", params.len());
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
                       {not_in_hand}
                       AND NOT EXISTS (SELECT e.id FROM agent_messages e
                           WHERE e.task_id = m.task_id AND e.recipient = 'pm'
                           AND e.processed_at IS NULL AND e.claimed_until > cynode_now()
                           AND {others_readable})
                       ORDER BY m.id LIMIT 1 /*pg FOR UPDATE OF m SKIP LOCKED */)
                   RETURNING *"
        );
        // Of two who look at once, the second has to see what the first one claimed: it would take the
        // next report of the same task otherwise. SQLite has one writer and reads the lock as a comment.
        self.rows("SELECT 1 AS one /*pg , pg_advisory_xact_lock(6299002) */", &[]).await?;
        loop {
            match self.one(&tables::AGENT_MESSAGES, &sql, &params, claimed).await {
                // A row on record is not claimed again, and delays no other.
                Err(error) if error.is_unreadable() => self.quarantine_now(error).await?,
                outcome => return outcome,
            }
        }
    }

    async fn report_keep(&mut self, claim: ReportClaim, lease_ms: i64) -> Result<bool, Error> {
        let sql = "UPDATE agent_messages SET claimed_until = cynode_after($3)
                   WHERE id = $1 AND turns = $2 AND processed_at IS NULL AND given_up IS NULL";
        Ok(self.execute(sql, params![claim.message, claim.turn, lease_ms]).await? == 1)
    }

    async fn report_put_off(
        &mut self,
        claim: ReportClaim,
        wait_ms: i64,
        began: Began,
    ) -> Result<bool, Error> {
        let sql = "UPDATE agent_messages SET claimed_until = cynode_after($3),
                   begun = begun - CASE WHEN $4 THEN 0 ELSE 1 END
                   WHERE id = $1 AND turns = $2 AND processed_at IS NULL AND given_up IS NULL";
        let params = params![claim.message, claim.turn, wait_ms, began == Began::Yes];
        Ok(self.execute(sql, params).await? == 1)
    }

    async fn report_give_up(&mut self, claim: ReportClaim, why: &str) -> Result<bool, Error> {
        let sql = "UPDATE agent_messages SET given_up = $3, claimed_until = NULL
                   WHERE id = $1 AND turns = $2 AND processed_at IS NULL AND given_up IS NULL";
        Ok(self.execute(sql, params![claim.message, claim.turn, why]).await? == 1)
    }

    async fn report_ask_person(&mut self, claim: ReportClaim, why: &str) -> Result<bool, Error> {
        let sql = "UPDATE agent_messages SET needs_person = $3, claimed_until = NULL
                   WHERE id = $1 AND turns = $2 AND processed_at IS NULL AND needs_person IS NULL";
        Ok(self.execute(sql, params![claim.message, claim.turn, why]).await? == 1)
    }

    async fn report_end(&mut self, claim: ReportClaim, at: DateTime<Utc>) -> Result<bool, Error> {
        let sql = "UPDATE agent_messages SET processed_at = $3
                   WHERE id = $1 AND turns = $2 AND processed_at IS NULL";
        Ok(self.execute(sql, params![claim.message, claim.turn, at]).await? == 1)
    }
}

pub(crate) fn claimed(row: &Row) -> Result<ClaimedReport, Error> {
    let message = message(row)?;
    let claim = ReportClaim { message: message.sent.id, turn: row.count("turns")? };
    Ok(ClaimedReport { message, claim, begun: row.count("begun")? })
}
