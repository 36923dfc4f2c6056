//! Records of chat requests: flags and metrics, never content.

use std::sync::LazyLock;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{ChatTurnId, ProjectId, ThreadId, UserId};

use crate::quarantine::tables;
use crate::{Error, Tx};
use cynode_sql::InsertStatements;
use cynode_sql::Row;
use cynode_sql::{Param, params};

/// The record of one chat request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRecord {
    /// The turn of the request.
    pub id: ChatTurnId,
    pub created_at: DateTime<Utc>,
    pub user: UserId,
    /// `None` if the request failed before the project was resolved.
    pub project: Option<ProjectId>,
    /// `None` if the request failed before the thread was resolved.
    pub thread: Option<ThreadId>,
    /// The requested model.
    pub model: String,
    /// `success`, `error`, `canceled` or `timeout`.
    pub outcome: String,
    /// The error code that the client received.
    pub error_code: Option<String>,
    /// The kinds of secrets that were redacted; empty if none.
    pub redaction_kinds: Vec<String>,
    pub duration_ms: i64,
    /// Correlates the request with the logs.
    pub request_id: String,
}

/// The columns of a record, in the order of [`record_params`].
const RECORD: &str = "id, created_at, user_id, project_id, thread_id, model, outcome, error_code, \
    redaction_applied, redaction_kinds, duration_ms, request_id";

pub(crate) static RECORD_INSERTS: LazyLock<InsertStatements> =
    LazyLock::new(|| InsertStatements::for_table("chat_audit_log", RECORD));

/// The values of a record's row.
pub(crate) fn record_params(record: &ChatRecord) -> [Param; 12] {
    [
        record.id.into(),
        record.created_at.into(),
        record.user.into(),
        record.project.into(),
        record.thread.into(),
        (&record.model).into(),
        (&record.outcome).into(),
        record.error_code.clone().into(),
        (!record.redaction_kinds.is_empty()).into(),
        serde_json::Value::from(record.redaction_kinds.clone()).into(),
        record.duration_ms.into(),
        (&record.request_id).into(),
    ]
}

/// Records of chat requests. A record is immutable.
impl Tx {
    pub async fn chat_record_insert(&mut self, record: &ChatRecord) -> Result<(), Error> {
        self.execute(RECORD_INSERTS.one(), &record_params(record)).await.map(drop)
    }

    /// Lists a page of the user's records, newest first, older than `before`.
    pub async fn chat_record_list(
        &mut self,
        user: UserId,
        before: Option<ChatTurnId>,
        limit: u32,
    ) -> Result<Vec<ChatRecord>, Error> {
        let sql = "SELECT * FROM chat_audit_log WHERE user_id = $1
                   AND ($2 /*pg ::uuid */ IS NULL OR id < $2) ORDER BY id DESC LIMIT $3";
        self.page(&tables::CHAT_RECORDS, sql, params![user, before, limit], record).await
    }

    /// Lists a page of all users' records, newest first, older than `before`.
    pub async fn chat_record_list_all(
        &mut self,
        before: Option<ChatTurnId>,
        limit: u32,
    ) -> Result<Vec<ChatRecord>, Error> {
        let sql = "SELECT * FROM chat_audit_log WHERE ($1 /*pg ::uuid */ IS NULL OR id < $1)
                   ORDER BY id DESC LIMIT $2";
        self.page(&tables::CHAT_RECORDS, sql, params![before, limit], record).await
    }
}

pub(crate) fn record(row: &Row) -> Result<ChatRecord, Error> {
    Ok(ChatRecord {
        id: row.id("id")?,
        created_at: row.get("created_at")?,
        user: row.id("user_id")?,
        project: row.id_opt("project_id")?,
        thread: row.id_opt("thread_id")?,
        model: row.get("model")?,
        outcome: row.get("outcome")?,
        error_code: row.get("error_code")?,
        redaction_kinds: row.json("redaction_kinds")?,
        duration_ms: row.get("duration_ms")?,
        request_id: row.get("request_id")?,
    })
}
