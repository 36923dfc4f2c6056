//! The audit log: every tool call is recorded before it is made, and its outcome afterwards.
//!
//! Start at [`AuditLog::begin`]: no call is made without the ticket it returns. `sealing` chains the other logs,
//! `verification` detects changes, `signing` has the key and the noted heads. Reading is in `query` and `history`,
//! and `export` has records for other systems.

mod chain_pages;
mod connections;
mod edge;
mod export;
mod history;
mod query;
mod rejection_counter;
mod rejections;
mod retention;
mod sealing;
mod signing;
mod verification;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use chrono::{DateTime, Utc};
use cynode_domain::error_class::{Classification, Classified, ErrorClass};
use cynode_domain::ids::{
    CallId, GroupId, JobId, ProjectId, RunId, ServerId, TaskId, TokenId, UserId,
};
use cynode_domain::policy::{CallStatus, Effect, ErrorKind, Principal, Stage};
use cynode_runtime::clock::SharedClock;
use cynode_store::{
    AuditCall, AuditCaller, AuditKeys, AuditOutcome, AuditWriter, InvalidPosition, Store,
    TokenBinding,
};

pub use chain_pages::verify_chain;
pub use connections::ServerConnectionRecord;
pub use export::ExportedRecord;
pub use rejection_counter::RejectionCounter;
pub use rejections::RejectionSummary;
pub use signing::{AuditOptions, parse_public_key};

use self::signing::HeadFile;

use crate::PageError;

/// Limit for text in a record that the caller supplied.
const MAX_TEXT_BYTES: usize = 256;
/// Between slug and id of a server in a record. Slugs do not contain it; records of earlier versions have no id.
const SERVER_ID_SEPARATOR: char = '/';

/// Errors of audit-log operations.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// There is no such call, or the caller may not see it.
    #[error("there is no such call")]
    NotFound,
    #[error("only an administrator may do this")]
    NotAdmin,
    #[error(transparent)]
    Page(#[from] PageError),
    /// A value that is not what [`AuditLog::head`] returned.
    #[error(transparent)]
    InvalidHead(#[from] InvalidPosition),
    /// A file with the id, the key or the heads of chains cannot be used.
    #[error("the file {path} cannot be used: {cause}")]
    File {
        path: String,
        #[source]
        cause: std::io::Error,
    },
    /// Nothing was recorded, so the call must not be made.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

impl Classified for AuditError {
    fn classify(&self) -> Classification<'_> {
        match self {
            Self::NotFound => Classification::new(ErrorClass::NotFound, self),
            Self::NotAdmin => Classification::new(ErrorClass::Forbidden, self),
            Self::InvalidHead(_) => Classification::new(ErrorClass::Invalid, self),
            Self::File { .. } => Classification::internal(),
            Self::Page(error) => error.classify(),
            Self::Store(error) => error.classify(),
        }
    }
}

/// Slug and id of the server in a record.
fn parse_server(recorded: &str) -> (&str, Option<ServerId>) {
    match recorded.split_once(SERVER_ID_SEPARATOR) {
        Some((slug, id)) => (slug, id.parse().ok()),
        None => (recorded, None),
    }
}

/// A tool call to record. Metadata only: no arguments and no results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCallRecord {
    /// `None` for a caller without a valid token.
    pub agent: Option<Principal>,
    pub token: Option<TokenId>,
    pub user: Option<UserId>,
    pub groups: Vec<GroupId>,
    pub roles: Vec<String>,
    pub project: Option<ProjectId>,
    pub task: Option<TaskId>,
    pub run: Option<RunId>,
    pub job: Option<JobId>,
    /// The tool name the caller sent; truncated to 256 bytes.
    pub tool: String,
    /// The server's slug, or `builtin`.
    pub server: String,
    /// Distinguishes servers of the same slug; `None` for built-in and unknown tools.
    pub server_id: Option<ServerId>,
    /// The stage that decided: [`Stage::Invoke`] for allowed calls.
    pub stage: Stage,
    /// Set for denied calls.
    pub error_type: Option<ErrorKind>,
    /// Where it was decided: `gateway`, or a worker node.
    pub origin: String,
    /// Correlates the record with the logs.
    pub request_id: String,
}

/// Proof that a call was recorded and may be made. Dropping it without [`AuditLog::finish`] records
/// that the call was interrupted.
#[must_use = "a recorded call must be finished"]
pub struct CallTicket {
    call: CallId,
    /// Where a drop reports the interruption; `None` once the call is finished.
    lane: Option<AuditWriter>,
}

/// The outcome of a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCallOutcome {
    /// `None` if the call succeeded.
    pub error_type: Option<ErrorKind>,
    pub duration_ms: i64,
}

/// The audit log. Cheap to clone.
#[derive(Clone)]
pub struct AuditLog {
    store: Store,
    clock: SharedClock,
    /// The only writer of this process's chain.
    lane: AuditWriter,
    keys: Arc<AuditKeys>,
    heads: Arc<Mutex<HeadFile>>,
    is_fault_logged: Arc<AtomicBool>,
}

impl AuditLog {
    /// Records an allowed call. The record is durable when this returns.
    pub async fn begin(&self, call: ToolCallRecord) -> Result<CallTicket, AuditError> {
        let call = self.build_audit_call(call, Effect::Allow);
        let id = call.id;
        self.lane.call(call).await?;
        Ok(CallTicket { call: id, lane: Some(self.lane.clone()) })
    }

    /// Records the outcome of a call. The record is durable when this returns.
    pub async fn finish(
        &self,
        ticket: CallTicket,
        outcome: ToolCallOutcome,
    ) -> Result<(), AuditError> {
        let status =
            if outcome.error_type.is_some() { CallStatus::Error } else { CallStatus::Success };
        let recorded = AuditOutcome {
            call: ticket.call,
            status,
            error_type: outcome.error_type.map(|kind| kind.to_string()),
            duration_ms: Some(outcome.duration_ms),
            recorded_at: truncate_to_micros(self.clock.now()),
        };
        self.lane.record_outcome(recorded).await?;
        // Only once it is durable: a ticket dropped earlier reports the interruption.
        ticket.disarm();
        Ok(())
    }

    /// Records a denied call. The record is durable when this returns.
    pub async fn record_denial(&self, call: ToolCallRecord) -> Result<(), AuditError> {
        Ok(self.lane.call(self.build_audit_call(call, Effect::Deny)).await?)
    }

    fn build_audit_call(&self, call: ToolCallRecord, decision: Effect) -> AuditCall {
        let (status, error_type) = match decision {
            Effect::Allow => (CallStatus::Pending, None),
            Effect::Deny => (CallStatus::Error, call.error_type),
        };
        AuditCall {
            id: CallId::generate(),
            created_at: truncate_to_micros(self.clock.now()),
            caller: AuditCaller {
                kind: call.agent.map_or("unknown", Principal::as_str).to_owned(),
                token: call.token,
                user: call.user,
                groups: call.groups,
                roles: call.roles,
            },
            binding: TokenBinding {
                project: call.project,
                task: call.task,
                run: call.run,
                job: call.job,
                session: None,
            },
            tool: sanitize_text(&call.tool),
            server: match call.server_id {
                Some(id) => format!("{}{SERVER_ID_SEPARATOR}{id}", sanitize_text(&call.server)),
                None => sanitize_text(&call.server),
            },
            decision,
            stage: call.stage,
            status,
            error_type: error_type.map(|kind| kind.to_string()),
            duration_ms: None,
            origin: sanitize_text(&call.origin),
            request_id: sanitize_text(&call.request_id),
        }
    }
}

impl CallTicket {
    pub fn call(&self) -> CallId {
        self.call
    }

    fn disarm(mut self) {
        self.lane = None;
    }
}

impl std::fmt::Debug for CallTicket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CallTicket").field("call", &self.call).finish_non_exhaustive()
    }
}

impl Drop for CallTicket {
    fn drop(&mut self) {
        if let Some(lane) = self.lane.take() {
            lane.abandon_call(self.call);
        }
    }
}

/// Truncates caller-supplied text and replaces control characters, so that one invalid name cannot
/// fail the batch it is written with.
fn sanitize_text(text: &str) -> String {
    let mut clean = String::new();
    for c in text.chars() {
        let c = if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
        if clean.len() + c.len_utf8() > MAX_TEXT_BYTES {
            break;
        }
        clean.push(c);
    }
    clean
}

/// Both engines store microseconds, and the hash must cover the stored value.
fn truncate_to_micros(time: DateTime<Utc>) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(time.timestamp_micros()).unwrap_or(time)
}
