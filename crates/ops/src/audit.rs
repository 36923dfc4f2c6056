//! The record of every tool call.

use chrono::{DateTime, Utc};
use cynode_domain::ids::{CallId, GroupId, JobId, ProjectId, RunId, TaskId, TokenId, UserId};
use cynode_domain::policy::{Principal, Stage};
use cynode_runtime::clock::SharedClock;
use cynode_store::Store;

use crate::BadCursor;

/// Why an operation on the audit log was refused.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// There is no such call, or the caller may not see it.
    #[error("there is no such call")]
    NotFound,
    /// Only administrators may do this.
    #[error("only an administrator may do this")]
    NotAdmin,
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The database does not answer: nothing was recorded, so nothing may be done.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// Who calls what. Metadata only: there is no place for arguments or results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRecord {
    /// In which role; nothing for a caller without a good token.
    pub agent: Option<Principal>,
    /// With which token.
    pub token: Option<TokenId>,
    /// For which user.
    pub user: Option<UserId>,
    /// The user's groups.
    pub groups: Vec<GroupId>,
    /// The user's roles.
    pub roles: Vec<String>,
    /// In which project.
    pub project: Option<ProjectId>,
    /// For which task.
    pub task: Option<TaskId>,
    /// In which run.
    pub run: Option<RunId>,
    /// In which job.
    pub job: Option<JobId>,
    /// The tool, as the caller named it; cut to 256 bytes.
    pub tool: String,
    /// The server it is on, or `builtin`.
    pub server: String,
    /// The stage that decided: [`Stage::Invoke`] for calls that are let through.
    pub stage: Stage,
    /// What kind of refusal, for calls that are not.
    pub error_type: Option<String>,
    /// Where it was decided: `gateway`, or a node.
    pub origin: String,
    /// Finds the request in the logs.
    pub request_id: String,
}

/// The proof that a call was recorded and may be made.
#[derive(Debug)]
#[must_use = "a call that was begun is to be finished"]
pub struct CallTicket {
    call: CallId,
    began_at: DateTime<Utc>,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What kind of failure; nothing if it succeeded.
    pub error_type: Option<String>,
    /// How long it took.
    pub duration_ms: i64,
}

/// The audit log. Cheap to clone.
#[derive(Clone)]
pub struct AuditLog {
    store: Store,
    clock: SharedClock,
}

impl AuditLog {
    /// Records that a call is let through. When this returns, the record is durable.
    pub async fn begin(&self, _call: CallRecord) -> Result<CallTicket, AuditError> {
        let _ = &self.store;
        let _ = CallTicket { call: CallId::generate(), began_at: self.clock.now() };
        Err(AuditError::NotFound)
    }

    /// Records what came of a call.
    pub async fn finish(&self, ticket: CallTicket, _outcome: Outcome) -> Result<(), AuditError> {
        let _ = (ticket.call, ticket.began_at);
        Err(AuditError::NotFound)
    }

    /// Records that a call was refused.
    pub async fn deny(&self, _call: CallRecord) -> Result<(), AuditError> {
        Err(AuditError::NotFound)
    }
}

impl CallTicket {
    /// The call's id in the log.
    pub fn call(&self) -> CallId {
        self.call
    }
}
