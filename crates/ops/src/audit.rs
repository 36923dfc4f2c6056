//! The record of every tool call: written before the call is made, and never without its end.
//!
//! Start at [`AuditLog::begin`]: without the ticket it gives nothing may be called. Reading,
//! verification and retention are in `look` and `keep`; `history` reads what else is on record.

mod history;
mod keep;
mod look;
mod rejections;

use chrono::{DateTime, Utc};
use cynode_domain::ids::{CallId, GroupId, JobId, ProjectId, RunId, TaskId, TokenId, UserId};
use cynode_domain::policy::{CallStatus, Effect, ErrorKind, Principal, Stage};
use cynode_runtime::clock::SharedClock;
use cynode_store::{AuditCall, AuditCaller, AuditLane, AuditOutcome, Binding, Store};

pub use rejections::RejectionSummary;

use crate::BadCursor;

/// The longest text that a record holds of what a caller said.
const MAX_BYTES: usize = 256;

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
    /// The file that names this writer's chain cannot be used.
    #[error("the file {path} cannot be used: {cause}")]
    Instance {
        /// The file.
        path: String,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
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
    pub error_type: Option<ErrorKind>,
    /// Where it was decided: `gateway`, or a node.
    pub origin: String,
    /// Finds the request in the logs.
    pub request_id: String,
}

/// The proof that a call was recorded and may be made. Dropped without [`AuditLog::finish`], it
/// records that the call was interrupted.
#[must_use = "a call that was begun is to be finished"]
pub struct CallTicket {
    call: CallId,
    /// Where to report that nobody finished the call; nothing once somebody did.
    lane: Option<AuditLane>,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What kind of failure; nothing if it succeeded.
    pub error_type: Option<ErrorKind>,
    /// How long it took.
    pub duration_ms: i64,
}

/// The audit log. Cheap to clone.
#[derive(Clone)]
pub struct AuditLog {
    store: Store,
    clock: SharedClock,
    /// The one writer of this process's chain.
    lane: AuditLane,
}

impl AuditLog {
    /// Records that a call is let through. When this returns, the record is durable.
    pub async fn begin(&self, call: CallRecord) -> Result<CallTicket, AuditError> {
        let call = self.decided(call, Effect::Allow);
        let id = call.id;
        self.lane.call(call).await?;
        Ok(CallTicket { call: id, lane: Some(self.lane.clone()) })
    }

    /// Records what came of a call. When this returns, the record is durable.
    pub async fn finish(&self, ticket: CallTicket, outcome: Outcome) -> Result<(), AuditError> {
        let status =
            if outcome.error_type.is_some() { CallStatus::Error } else { CallStatus::Success };
        let recorded = AuditOutcome {
            call: ticket.call,
            status,
            error_type: outcome.error_type.map(|kind| kind.to_string()),
            duration_ms: Some(outcome.duration_ms),
            recorded_at: micros(self.clock.now()),
        };
        self.lane.outcome(recorded).await?;
        // Not before it is durable: a ticket that is dropped on the way reports the interruption.
        ticket.done();
        Ok(())
    }

    /// Records that a call was refused. When this returns, the record is durable.
    pub async fn deny(&self, call: CallRecord) -> Result<(), AuditError> {
        Ok(self.lane.call(self.decided(call, Effect::Deny)).await?)
    }

    fn decided(&self, call: CallRecord, decision: Effect) -> AuditCall {
        let (status, error_type) = match decision {
            Effect::Allow => (CallStatus::Pending, None),
            Effect::Deny => (CallStatus::Error, call.error_type),
        };
        AuditCall {
            id: CallId::generate(),
            created_at: micros(self.clock.now()),
            caller: AuditCaller {
                kind: call.agent.map_or("unknown", Principal::as_str).to_owned(),
                token: call.token,
                user: call.user,
                groups: call.groups,
                roles: call.roles,
            },
            binding: Binding {
                project: call.project,
                task: call.task,
                run: call.run,
                job: call.job,
                session: None,
            },
            tool: clean(&call.tool),
            server: clean(&call.server),
            decision,
            stage: call.stage,
            status,
            error_type: error_type.map(|kind| kind.to_string()),
            duration_ms: None,
            origin: clean(&call.origin),
            request_id: clean(&call.request_id),
        }
    }
}

impl CallTicket {
    /// The call's id in the log.
    pub fn call(&self) -> CallId {
        self.call
    }

    fn done(mut self) {
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
            lane.abandon(self.call);
        }
    }
}

/// What a caller said, as a database can hold it: short, and without control characters. One odd
/// name must not spoil the records of others that are written with it.
fn clean(text: &str) -> String {
    let mut clean = String::new();
    for c in text.chars() {
        let c = if c.is_control() { char::REPLACEMENT_CHARACTER } else { c };
        if clean.len() + c.len_utf8() > MAX_BYTES {
            break;
        }
        clean.push(c);
    }
    clean
}

/// Both engines keep microseconds; the hash must be over what is kept.
fn micros(time: DateTime<Utc>) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(time.timestamp_micros()).unwrap_or(time)
}
