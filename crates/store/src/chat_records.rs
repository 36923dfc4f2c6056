//! How requests to chat went: flags and figures, never what was said.

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use cynode_domain::ids::{ChatTurnId, ProjectId, ThreadId, UserId};

use crate::column::Row;
use crate::param::params;
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
}

#[async_trait]
impl ChatRecordStore for Tx {
    async fn chat_record_insert(&mut self, record: &ChatRecord) -> Result<(), Error> {
        let sql = "INSERT INTO chat_audit_log (id, created_at, user_id, project_id, thread_id,
                   model, outcome, error_code, redaction_applied, redaction_kinds, duration_ms,
                   request_id)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)";
        let params = params![
            record.id,
            record.created_at,
            record.user,
            record.project,
            record.thread,
            &record.model,
            &record.outcome,
            record.error_code.clone(),
            !record.redaction_kinds.is_empty(),
            serde_json::Value::from(record.redaction_kinds.clone()),
            record.duration_ms,
            &record.request_id,
        ];
        self.execute(sql, params).await.map(drop)
    }

    async fn chat_record_list(
        &mut self,
        user: UserId,
        before: Option<ChatTurnId>,
        limit: u32,
    ) -> Result<Vec<ChatRecord>, Error> {
        let sql = "SELECT * FROM chat_audit_log WHERE user_id = $1
                   AND ($2 /*pg ::uuid */ IS NULL OR id < $2) ORDER BY id DESC LIMIT $3";
        self.rows(sql, params![user, before, limit]).await?.iter().map(record).collect()
    }
}

fn record(row: &Row) -> Result<ChatRecord, Error> {
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
