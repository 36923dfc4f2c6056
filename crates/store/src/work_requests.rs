//! Submitted work, the claims of the processes that advance it, and the attempts at its units.
//!
//! Invariants: only the newest claim of a request can write to it ([`RequestClaim`]). A request with an open question, or
//! whose task is closed, is not claimed. All times of claims are those of the database.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ProjectId, TaskId, UserId};
use cynode_domain::request::{RequestQuestion, RequestSettings, RequestSource, RequestState};
use cynode_domain::status::{RequestPhase, TaskStatus};
use cynode_domain::verification::VerificationStatus;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::inferences::{InferenceSums, sums};
use crate::lookups::in_list;
use crate::quarantine::{not_quarantined, tables};
use crate::tasks::task;
use crate::{Error, Task, Tx};
use cynode_sql::Row;
use cynode_sql::{Param, params};

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

/// An attempt at a unit, or at another step of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitAttempt {
    /// The task of the request.
    pub task: TaskId,
    /// The unit, such as `impl:auth`, or the step, such as `context`.
    pub unit: String,
    /// From 1.
    pub number: u32,
    pub child: TaskId,
    /// What came of it; set together with `concluded_at`.
    pub outcome: Option<Value>,
    pub created_at: DateTime<Utc>,
    pub concluded_at: Option<DateTime<Utc>>,
}

/// An attempt with the status of its child task.
#[derive(Debug, Clone, PartialEq)]
pub struct AttemptStatus {
    pub attempt: UnitAttempt,
    pub status: TaskStatus,
    /// The summary of the child task, once it is closed.
    pub summary: Option<String>,
}

/// What a list shows of a request beside its own row.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestOverview {
    pub task: Task,
    /// The handle of the user who submitted it.
    pub owner: String,
    pub unit_count: u32,
    pub completed_count: u32,
}

/// Selects requests of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestFilter {
    /// Only requests of this user; all users if absent.
    pub created_by: Option<UserId>,
    pub project: Option<ProjectId>,
    /// Only requests that are open, or ended; both if absent.
    pub is_open: Option<bool>,
    /// Only requests that wait for a person.
    pub awaits_answer: bool,
    /// Only requests older than this one.
    pub before: Option<TaskId>,
    pub limit: u32,
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

    /// Lists a page of requests, newest first.
    pub async fn request_list(
        &mut self,
        filter: &RequestFilter,
    ) -> Result<Vec<WorkRequest>, Error> {
        let mut sql = "SELECT r.* FROM work_requests r JOIN tasks t ON t.id = r.task_id WHERE true"
            .to_owned();
        let mut params: Vec<Param> = vec![];
        let mut add = |condition: &str, param: Param| {
            params.push(param);
            sql.push_str(&condition.replace("$n", &format!("${}", params.len())));
        };
        if let Some(user) = filter.created_by {
            add(" AND t.created_by = $n", user.into());
        }
        if let Some(project) = filter.project {
            add(" AND t.project_id = $n", project.into());
        }
        if let Some(before) = filter.before {
            add(" AND r.task_id < $n", before.into());
        }
        match filter.is_open {
            Some(true) => sql.push_str(" AND NOT t.closed"),
            Some(false) => sql.push_str(" AND t.closed"),
            None => {}
        }
        if filter.awaits_answer {
            sql.push_str(" AND r.question IS NOT NULL AND NOT t.closed");
        }
        params.push(filter.limit.into());
        let _ = write!(sql, " ORDER BY r.task_id DESC LIMIT ${}", params.len());
        self.page(&tables::WORK_REQUESTS, &sql, &params, request).await
    }

    /// Returns the tasks, owners and progress of requests. The number of statements does not depend on their number.
    pub async fn request_overviews(
        &mut self,
        requests: &[TaskId],
    ) -> Result<Vec<RequestOverview>, Error> {
        let Some((ids, params)) = in_list(requests) else { return Ok(vec![]) };
        let sql = format!(
            "SELECT t.*, u.handle AS owner_handle,
             (SELECT count(*) FROM work_units w WHERE w.task_id = t.id) AS unit_count,
             (SELECT count(*) FROM work_units w WHERE w.task_id = t.id AND w.status = 'completed')
                 AS completed_count
             FROM tasks t JOIN users u ON u.id = t.created_by WHERE t.id IN {ids}"
        );
        self.list(&tables::TASKS, &sql, &params, overview).await
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

    /// Claims the request that has waited longest and can be advanced, for `lease_ms` milliseconds: it is due, or a child
    /// task has ended that it took no note of. It stays due until it is released, also if this process dies.
    pub async fn request_claim(&mut self, lease_ms: i64) -> Result<Option<RequestClaim>, Error> {
        let readable = not_quarantined("work_requests", "r.task_id");
        let sql = format!(
            "UPDATE work_requests SET epoch = epoch + 1, claimed_until = cynode_after($1),
                 due_at = cynode_now()
             WHERE task_id = (SELECT r.task_id FROM work_requests r JOIN tasks t ON t.id = r.task_id
                 WHERE {readable} AND r.phase <> 'ended' AND NOT t.closed AND r.question IS NULL
                 AND t.paused_at IS NULL
                 AND (r.claimed_until IS NULL OR r.claimed_until <= cynode_now())
                 AND (r.due_at <= cynode_now() OR r.failures = 0 AND EXISTS (
                     SELECT 1 FROM unit_attempts a JOIN tasks c ON c.id = a.child_task_id
                     WHERE a.task_id = r.task_id AND a.concluded_at IS NULL AND c.closed))
                 ORDER BY r.updated_at LIMIT 1 /*pg FOR UPDATE OF r SKIP LOCKED */)
             RETURNING task_id, epoch"
        );
        let row = self.row(&sql, params![lease_ms]).await?;
        row.map(|row| Ok(RequestClaim { task: row.id("task_id")?, epoch: row.get("epoch")? }))
            .transpose()
    }

    /// Whether a request can be claimed.
    pub async fn request_has_work(&mut self) -> Result<bool, Error> {
        let readable = not_quarantined("work_requests", "r.task_id");
        let sql = format!(
            "SELECT r.task_id FROM work_requests r JOIN tasks t ON t.id = r.task_id
             WHERE {readable} AND r.phase <> 'ended' AND NOT t.closed AND r.question IS NULL
             AND t.paused_at IS NULL
             AND (r.claimed_until IS NULL OR r.claimed_until <= cynode_now())
             AND (r.due_at <= cynode_now() OR r.failures = 0 AND EXISTS (
                 SELECT 1 FROM unit_attempts a JOIN tasks c ON c.id = a.child_task_id
                 WHERE a.task_id = r.task_id AND a.concluded_at IS NULL AND c.closed))
             LIMIT 1"
        );
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
    /// person acts. Returns false if the claim is lost.
    pub async fn request_release(
        &mut self,
        claim: RequestClaim,
        due_ms: Option<i64>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE work_requests SET claimed_until = NULL, due_at =
                       CASE WHEN $3 /*pg ::bigint */ IS NULL THEN NULL ELSE cynode_after($3) END
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
        let sql = "UPDATE work_requests SET due_at = cynode_now(), epoch = epoch + 1, claimed_until = NULL
                   WHERE task_id = $1";
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

    /// Adds an attempt; returns false if it exists.
    pub async fn attempt_insert(&mut self, attempt: &UnitAttempt) -> Result<bool, Error> {
        let sql = "INSERT INTO unit_attempts (task_id, unit_id, number, child_task_id, created_at)
                   VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING";
        let UnitAttempt { task, unit, number, child, created_at, .. } = attempt;
        let params = params![*task, unit, *number, *child, *created_at];
        Ok(self.execute(sql, params).await? == 1)
    }

    /// Lists the attempts of a request with the status of their child tasks, those at a unit oldest first.
    pub async fn attempt_list(&mut self, task: TaskId) -> Result<Vec<AttemptStatus>, Error> {
        let sql = format!("{ATTEMPT} WHERE a.task_id = $1 ORDER BY a.unit_id, a.number");
        // All or none: an attempt that is left out would be made again.
        self.all(&tables::UNIT_ATTEMPTS, &sql, params![task], attempt).await
    }

    /// Records what came of an attempt; returns false if that is recorded already.
    pub async fn attempt_conclude(
        &mut self,
        child: TaskId,
        outcome: &Value,
        at: DateTime<Utc>,
    ) -> Result<bool, Error> {
        let sql = "UPDATE unit_attempts SET outcome = $2, concluded_at = $3
                   WHERE child_task_id = $1 AND concluded_at IS NULL";
        Ok(self.execute(sql, params![child, outcome.clone(), at]).await? == 1)
    }

    /// Makes a task the child of another, for one of its units.
    pub async fn task_set_parent(
        &mut self,
        child: TaskId,
        parent: TaskId,
        unit: &str,
    ) -> Result<(), Error> {
        let sql = "UPDATE tasks SET parent_task_id = $2, work_unit_id = $3 WHERE id = $1";
        self.execute(sql, params![child, parent, unit]).await.map(drop)
    }

    /// Lists the open children of a task.
    pub async fn task_open_children(&mut self, parent: TaskId) -> Result<Vec<TaskId>, Error> {
        let sql = "SELECT id FROM tasks WHERE parent_task_id = $1 AND NOT closed ORDER BY id";
        let rows = self.rows(sql, params![parent]).await?;
        rows.iter().map(|row| row.id("id")).collect()
    }
}

/// Selects attempts with the status of their child tasks.
pub(crate) const ATTEMPT: &str = "SELECT a.*, c.status AS child_status, c.summary AS child_summary
    FROM unit_attempts a JOIN tasks c ON c.id = a.child_task_id";

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

fn overview(row: &Row) -> Result<RequestOverview, Error> {
    Ok(RequestOverview {
        task: task(row)?,
        owner: row.get("owner_handle")?,
        unit_count: row.count("unit_count")?,
        completed_count: row.count("completed_count")?,
    })
}

fn optional_json<T: DeserializeOwned>(row: &Row, column: &'static str) -> Result<Option<T>, Error> {
    let stored: Option<Value> = row.get(column)?;
    let decode = |value| {
        serde_json::from_value(value).map_err(|error| Error::unreadable(column, error.to_string()))
    };
    stored.map(decode).transpose()
}

pub(crate) fn attempt(row: &Row) -> Result<AttemptStatus, Error> {
    Ok(AttemptStatus {
        attempt: UnitAttempt {
            task: row.id("task_id")?,
            unit: row.get("unit_id")?,
            number: row.count("number")?,
            child: row.id("child_task_id")?,
            outcome: row.get("outcome")?,
            created_at: row.get("created_at")?,
            concluded_at: row.get("concluded_at")?,
        },
        status: row.keyword("child_status")?,
        summary: row.get("child_summary")?,
    })
}
