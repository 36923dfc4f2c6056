//! How requests to chat went: flags and figures, never what was said.

use std::sync::LazyLock;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{ChatTurnId, ProjectId, ThreadId, UserId};

use crate::column::Row;
use crate::many::Inserts;
use crate::param::{Param, params};
use crate::quarantine::tables;
use crate::{Error, Tx};

/// How one request to chat went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRecord {
    /// The request.
    pub id: ChatTurnId,
    /// When it came.
    pub created_at: DateTime<Utc>,
    /// Who asked.
    pub user: UserId,
    /// In which project, if that became known.
    pub project: Option<ProjectId>,
    /// In which thread, if it came that far.
    pub thread: Option<ThreadId>,
    /// Which model was asked.
    pub model: String,
    /// `success`, `error`, `canceled` or `timeout`.
    pub outcome: String,
    /// What a client was told went wrong.
    pub error_code: Option<String>,
    /// The sorts of secrets that were taken out; empty if there were none.
    pub redaction_kinds: Vec<String>,
    /// How long it took.
    pub duration_ms: i64,
    /// Finds the request in the logs.
    pub request_id: String,
}

/// How requests to chat went. A record never changes.
#[async_trait]
pub trait ChatRecordStore {
    /// Adds a record.
    async fn chat_record_insert(&mut self, record: &ChatRecord) -> Result<(), Error>;
    /// A page of the user's records, newest first, older than `before`.
    async fn chat_record_list(
        &mut self,
        user: UserId,
        before: Option<ChatTurnId>,
        limit: u32,
    ) -> Result<Vec<ChatRecord>, Error>;
    /// A page of everybody's records, newest first, older than `before`.
    async fn chat_record_list_all(
        &mut self,
        before: Option<ChatTurnId>,
        limit: u32,
    ) -> Result<Vec<ChatRecord>, Error>;
}

/// The columns of a record, in the order of [`record_params`].
const RECORD: &[&str] = &[
    "id",
    "created_at",
    "user_id",
    "project_id",
    "thread_id",
    "model",
    "outcome",
    "error_code",
    "redaction_applied",
    "redaction_kinds",
    "duration_ms",
    "request_id",
];

/// Adds records.
pub(crate) static RECORD_INSERTS: LazyLock<Inserts> =
    LazyLock::new(|| Inserts::for_table("chat_audit_log", RECORD));

/// A record as the values of its row.
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

#[async_trait]
impl ChatRecordStore for Tx {
    async fn chat_record_insert(&mut self, record: &ChatRecord) -> Result<(), Error> {
        self.execute(RECORD_INSERTS.one(), &record_params(record)).await.map(drop)
    }

    async fn chat_record_list(
        &mut self,
        user: UserId,
        before: Option<ChatTurnId>,
        limit: u32,
    ) -> Result<Vec<ChatRecord>, Error> {
        let sql = "SELECT * FROM chat_audit_log WHERE user_id = $1
                   AND ($2 /*pg ::uuid */ IS NULL OR id < $2) ORDER BY id DESC LIMIT $3";
        self.page(&tables::CHAT_RECORDS, sql, params![user, before, limit], record).await
    }

    async fn chat_record_list_all(
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
