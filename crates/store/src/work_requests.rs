//! Submitted work, and the claims of the processes that advance it.
//!
//! Invariants: only the newest claim of a request can write to it ([`RequestClaim`]). A request with an open question, or
//! whose task is closed, is not claimed. All times of claims are those of the database.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{TaskId, UserId};
use cynode_domain::request::{RequestQuestion, RequestSettings, RequestSource, RequestState};
use cynode_domain::status::RequestPhase;
use cynode_domain::verification::VerificationStatus;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::inferences::{InferenceSums, sums};
use crate::lookups::in_list;
use crate::quarantine::{not_quarantined, tables};
use crate::{Error, Tx};
use cynode_sql::Row;
use cynode_sql::params;

/// A request with what was decided about it.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkRequest {
    /// The task of the request.
    pub task: TaskId,
    pub phase: RequestPhase,
    pub source: RequestSource,
    pub settings: RequestSettings,
    pub state: RequestState,
    /// What it waits for from a person.
    pub question: Option<RequestQuestion>,
    pub asked_at: Option<DateTime<Utc>>,
    /// SHA-256 of the normalised text, in hex.
    pub text_sha256: String,
    /// Failures of the present step.
    pub failures: u32,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// The right to advance a request, until another process claims it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestClaim {
    pub task: TaskId,
    /// The number of claims of this request so far, including this one.
    pub epoch: i64,
}

/// Which requests a driver claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimScope {
    All,
    /// None that follows its pull request.
    ExceptInReview,
}

impl ClaimScope {
    const fn condition(self) -> &'static str {
        match self {
            Self::All => "",
            Self::ExceptInReview => "AND r.phase <> 'in_review'",
        }
    }
}

/// A request that was claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClaimedRequest {
    pub claim: RequestClaim,
    /// Whether it followed its pull request when it was claimed.
    pub is_in_review: bool,
}

/// What a model call depends on beside the policy.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CallerFacts {
    pub is_admin: bool,
    /// The request of the call's task.
    pub request: Option<RequestOfTask>,
}

/// The request that a task is, or belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestOfTask {
    /// The task of the request.
    pub task: TaskId,
    /// The unit that the task works on; `None` for the task of the request.
    pub unit: Option<String>,
    pub settings: RequestSettings,
}

impl Tx {
    pub async fn request_insert(&mut self, request: &WorkRequest) -> Result<(), Error> {
        let sql = "INSERT INTO work_requests
                   (task_id, phase, source, settings, state, question, asked_at, text_sha256, failures, due_at,
                    created_at, updated_at)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, cynode_now(), $9, $9)";
        let params = params![
            request.task,
            request.phase.as_str(),
            json!(request.source),
            json!(request.settings),
            json!(request.state),
            request.question.as_ref().map(|question| json!(question)),
            request.asked_at,
            &request.text_sha256,
            request.created_at,
        ];
        self.execute(sql, params).await.map(drop)
    }

    pub async fn request_get(&mut self, task: TaskId) -> Result<Option<WorkRequest>, Error> {
        let sql = "SELECT * FROM work_requests WHERE task_id = $1";
        self.one(&tables::WORK_REQUESTS, sql, params![task], request).await
    }

    /// Returns the request, locked until the transaction ends.
    pub async fn request_lock(&mut self, task: TaskId) -> Result<Option<WorkRequest>, Error> {
        let sql = "SELECT * FROM work_requests WHERE task_id = $1 /*pg FOR NO KEY UPDATE */";
        self.one(&tables::WORK_REQUESTS, sql, params![task], request).await
    }

    /// Returns the requests among these tasks.
    pub async fn requests_of(&mut self, tasks: &[TaskId]) -> Result<Vec<WorkRequest>, Error> {
        let Some((ids, params)) = in_list(tasks) else { return Ok(vec![]) };
        let sql = format!("SELECT * FROM work_requests WHERE task_id IN {ids}");
        self.list(&tables::WORK_REQUESTS, &sql, &params, request).await
    }

    /// Makes other transactions that submit the same text wait for this one, so that only one of them finds no duplicate.
    pub async fn request_lock_text(&mut self, text_sha256: &str) -> Result<(), Error> {
        // Write transactions of SQLite wait for each other anyway.
        let sql = "SELECT $1 /*pg ::text */ AS text_sha256
                   /*pg , CAST(pg_advisory_xact_lock(8351208, hashtext($1)) AS text) AS locked */";
        self.row(sql, params![text_sha256]).await.map(drop)
    }

    /// Returns whether a user is an administrator, and the request that a task belongs to.
    pub async fn caller_facts(
        &mut self,
        user: UserId,
        task: Option<TaskId>,
    ) -> Result<CallerFacts, Error> {
        let sql = "SELECT u.is_admin, t.work_unit_id, r.task_id AS request_id, r.settings
                   FROM users u LEFT JOIN tasks t ON t.id = $2 /*pg ::uuid */
                   LEFT JOIN work_requests r ON r.task_id = coalesce(t.parent_task_id, t.id)
                   WHERE u.id = $1";
        let Some(row) = self.row(sql, params![user, task]).await? else {
            return Ok(CallerFacts::default());
        };
        let request = match row.id_opt("request_id")? {
            Some(task) => Some(RequestOfTask {
                task,
                unit: row.get("work_unit_id")?,
                settings: row.json("settings")?,
            }),
            None => None,
        };
        Ok(CallerFacts { is_admin: row.get("is_admin")?, request })
    }

    /// Returns the newest open request of a user with the same text.
    pub async fn request_find_duplicate(
        &mut self,
        user: UserId,
        text_sha256: &str,
    ) -> Result<Option<TaskId>, Error> {
        let sql = "SELECT r.task_id FROM work_requests r JOIN tasks t ON t.id = r.task_id
                   WHERE r.text_sha256 = $2 AND r.phase <> 'ended' AND NOT t.closed
                   AND t.created_by = $1 ORDER BY r.task_id DESC LIMIT 1";
        let row = self.row(sql, params![user, text_sha256]).await?;
        row.map(|row| row.id("task_id")).transpose()
    }

    /// Sums the model calls of these tasks.
    pub async fn inference_sums_of(&mut self, tasks: &[TaskId]) -> Result<InferenceSums, Error> {
        let Some((ids, params)) = in_list(tasks) else { return Ok(InferenceSums::default()) };
        let sql = format!(
            "SELECT count(*) AS calls,
             CAST(coalesce(sum(input_tokens), 0) AS bigint) AS input_tokens,
             CAST(coalesce(sum(output_tokens), 0) AS bigint) AS output_tokens,
             CAST(coalesce(sum(cost_micro_usd), 0) AS bigint) AS cost_micro_usd,
             CAST(coalesce(sum(CASE WHEN cost_micro_usd IS NULL
                 AND outcome IN ('success', 'canceled') THEN 1 ELSE 0 END), 0) AS bigint)
                 AS unpriced
             FROM brain_calls WHERE task_id IN {ids}"
        );
        let row = self.row(&sql, &params).await?;
        row.map_or(Ok(InferenceSums::default()), |row| sums(&row))
    }

    /// Sums the known and reserved cost of the model calls of a request and its child tasks, in millionths of a US dollar.
    pub async fn request_cost(&mut self, task: TaskId) -> Result<i64, Error> {
        let sql = "SELECT CAST(coalesce(sum(cost_micro_usd), 0) AS bigint) AS cost FROM brain_calls
                   WHERE task_id IN (SELECT id FROM tasks WHERE id = $1 OR parent_task_id = $1)";
        self.row(sql, params![task]).await?.map_or(Ok(0), |row| row.get("cost"))
    }

    /// Claims the request that is due for the longest time, for `lease_ms` milliseconds: its due time has passed, or a
    /// child task has ended that it has not processed. It stays due until it is released, also if this process dies.
    pub async fn request_claim(
        &mut self,
        lease_ms: i64,
        scope: ClaimScope,
    ) -> Result<Option<ClaimedRequest>, Error> {
        let claimable = claimable(scope);
        let sql = format!(
            "UPDATE work_requests SET epoch = epoch + 1, claimed_until = cynode_after($1),
                 due_at = cynode_now(), is_woken = FALSE
             WHERE task_id = (SELECT r.task_id {claimable}
                 ORDER BY coalesce(r.due_at, r.updated_at), r.task_id
                 LIMIT 1 /*pg FOR UPDATE OF r SKIP LOCKED */)
             RETURNING task_id, epoch, phase"
        );
        let Some(row) = self.row(&sql, params![lease_ms]).await? else { return Ok(None) };
        let claim = RequestClaim { task: row.id("task_id")?, epoch: row.get("epoch")? };
        // An unknown phase is detected when the request is read, which quarantines the row.
        let phase: String = row.get("phase")?;
        Ok(Some(ClaimedRequest { claim, is_in_review: phase == RequestPhase::InReview.as_str() }))
    }

    /// Whether a request can be claimed.
    pub async fn request_has_work(&mut self, scope: ClaimScope) -> Result<bool, Error> {
        let sql = format!("SELECT r.task_id {} LIMIT 1", claimable(scope));
        Ok(self.row(&sql, &[]).await?.is_some())
    }

    /// Extends a claim to this many milliseconds from now; returns false if it is lost.
    pub async fn request_extend(
        &mut self,
        claim: RequestClaim,
        lease_ms: i64,
    ) -> Result<bool, Error> {
        let sql = "UPDATE work_requests SET claimed_until = cynode_after($3)
                   WHERE task_id = $1 AND epoch = $2";
        Ok(self.execute(sql, params![claim.task, claim.epoch, lease_ms]).await? == 1)
    }

    /// Releases a claim. The request is advanced again after `due_ms` milliseconds; if absent, when a child task ends or a
    /// person acts. One that was notified meanwhile is advanced at once, unless its step failed and a delay is given: the
    /// delay is kept, and the request reads what it was notified of when it is over. Returns false if the claim is lost.
    pub async fn request_release(
        &mut self,
        claim: RequestClaim,
        due_ms: Option<i64>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE work_requests SET claimed_until = NULL, is_woken = FALSE, due_at =
                       CASE WHEN is_woken AND (failures = 0 OR $3 /*pg ::bigint */ IS NULL)
                            THEN cynode_now()
                            WHEN $3 /*pg ::bigint */ IS NULL THEN NULL ELSE cynode_after($3) END
                   WHERE task_id = $1 AND epoch = $2";
        Ok(self.execute(sql, params![claim.task, claim.epoch, due_ms]).await? == 1)
    }

    /// Whether a claim is the newest one; the request stays locked until the transaction ends.
    pub async fn request_check_claim(&mut self, claim: RequestClaim) -> Result<bool, Error> {
        let sql = "SELECT epoch FROM work_requests WHERE task_id = $1 /*pg FOR NO KEY UPDATE */";
        let row = self.row(sql, params![claim.task]).await?;
        let epoch: Option<i64> = row.map(|row| row.get("epoch")).transpose()?;
        Ok(epoch == Some(claim.epoch))
    }

    /// Makes a request due now, after a person acted on it, and fences the process that advances it.
    pub async fn request_wake(&mut self, task: TaskId) -> Result<(), Error> {
        let sql = "UPDATE work_requests SET due_at = cynode_now(), epoch = epoch + 1, claimed_until = NULL,
                       is_woken = FALSE
                   WHERE task_id = $1";
        self.execute(sql, params![task]).await.map(drop)
    }

    /// Makes a request due now, after a hint from outside. A process that has claimed it is not interrupted; the request is
    /// due again when the claim is released. A request whose step failed keeps its due time: hints shorten neither its
    /// backoff nor a time that a forge named.
    pub async fn request_notify(&mut self, task: TaskId) -> Result<(), Error> {
        let sql = "UPDATE work_requests SET is_woken = claimed_until IS NOT NULL, due_at =
                       CASE WHEN failures > 0 AND due_at IS NOT NULL THEN due_at
                            ELSE cynode_now() END
                   WHERE task_id = $1 AND phase <> 'ended'";
        self.execute(sql, params![task]).await.map(drop)
    }

    /// Updates what changes while a request is advanced.
    pub async fn request_update(&mut self, request: &WorkRequest) -> Result<(), Error> {
        let sql = "UPDATE work_requests SET phase = $2, settings = $3, state = $4, question = $5, asked_at = $6,
                   failures = $7, updated_at = $8 WHERE task_id = $1";
        let params = params![
            request.task,
            request.phase.as_str(),
            json!(request.settings),
            json!(request.state),
            request.question.as_ref().map(|question| json!(question)),
            request.asked_at,
            request.failures,
            request.updated_at,
        ];
        self.execute(sql, params).await.map(drop)
    }

    /// Ends the request of a task that is closed; a task that is no request is left alone.
    pub async fn request_end(&mut self, task: TaskId) -> Result<(), Error> {
        let sql = "UPDATE work_requests SET phase = 'ended', question = NULL, due_at = NULL,
                   claimed_until = NULL, epoch = epoch + 1, updated_at = cynode_now()
                   WHERE task_id = $1";
        self.execute(sql, params![task]).await.map(drop)
    }

    /// Records what was verified of a request.
    pub async fn task_set_verification(
        &mut self,
        task: TaskId,
        verification: VerificationStatus,
    ) -> Result<(), Error> {
        let sql = "UPDATE tasks SET verification = $2 WHERE id = $1";
        self.execute(sql, params![task, verification.as_str()]).await.map(drop)
    }
}

/// The requests that can be claimed, as the tables and the condition of a statement.
fn claimable(scope: ClaimScope) -> String {
    let readable = not_quarantined("work_requests", "r.task_id");
    let of_scope = scope.condition();
    format!(
        "FROM work_requests r JOIN tasks t ON t.id = r.task_id
         WHERE {readable} AND r.phase <> 'ended' {of_scope} AND NOT t.closed AND r.question IS NULL
         AND t.paused_at IS NULL
         AND (r.claimed_until IS NULL OR r.claimed_until <= cynode_now())
         AND (r.due_at <= cynode_now() OR r.failures = 0 AND EXISTS (
             SELECT 1 FROM unit_attempts a JOIN tasks c ON c.id = a.child_task_id
             WHERE a.task_id = r.task_id AND a.concluded_at IS NULL AND c.closed))"
    )
}

pub(crate) fn request(row: &Row) -> Result<WorkRequest, Error> {
    Ok(WorkRequest {
        task: row.id("task_id")?,
        phase: row.keyword("phase")?,
        source: row.json("source")?,
        settings: row.json("settings")?,
        state: row.json("state")?,
        question: optional_json(row, "question")?,
        asked_at: row.get("asked_at")?,
        text_sha256: row.get("text_sha256")?,
        failures: row.count("failures")?,
        created_at: row.get("created_at")?,
        updated_at: row.get("updated_at")?,
    })
}

fn optional_json<T: DeserializeOwned>(row: &Row, column: &'static str) -> Result<Option<T>, Error> {
    let stored: Option<Value> = row.get(column)?;
    let decode = |value| {
        serde_json::from_value(value).map_err(|error| Error::unreadable(column, error.to_string()))
    };
    stored.map(decode).transpose()
}
