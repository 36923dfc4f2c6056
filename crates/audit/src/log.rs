//! The logs that are sealed after their rows were written: sign-ins, changes, chats and decisions on model calls.

use chrono::{DateTime, Utc};
use cynode_domain::ids::ChainId;
use serde_json::Value;
use uuid::Uuid;

use crate::ChainPosition;

/// The chain of the logs; each database has one.
pub const LOG_CHAIN: ChainId = ChainId::from_uuid(Uuid::from_u128(1));

/// A row of a log.
#[derive(Debug, Clone, PartialEq)]
pub struct LogRow {
    /// The table.
    pub log: &'static str,
    /// As stored, also if it is not an id.
    pub id: String,
    /// When it was written, in whole microseconds; the epoch if that is unreadable.
    pub at: DateTime<Utc>,
    /// The other columns by name, in the order of their declaration.
    pub columns: Vec<(&'static str, Value)>,
}

/// The outcome of a pass that seals rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogSealing {
    Sealed {
        /// The head after it.
        head: ChainPosition,
        /// New records.
        rows: usize,
        /// Rows that cannot be updated, because their id was changed.
        unsealable: usize,
    },
    /// The chain was changed by something else: its head is not signed, or is not the known one. Nothing was written.
    Refused,
}

/// A log and its columns, without `id`, the time and those of the seal.
#[derive(Debug)]
pub struct LogTable {
    pub name: &'static str,
    /// The column of the time.
    pub time: &'static str,
    pub columns: &'static [(&'static str, ColumnKind)],
}

/// The kind of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    Bool,
    Id,
    Int,
    Json,
    Text,
}

macro_rules! log_tables {
    ($($name:ident by $time:ident: $($column:ident $kind:ident),+;)+) => {
        &[$(LogTable {
            name: stringify!($name),
            time: stringify!($time),
            columns: &[$((stringify!($column), ColumnKind::$kind)),+],
        }),+]
    };
}

/// Every log. The order and the kinds of columns are part of the hash.
pub const LOGS: &[LogTable] = log_tables! {
    auth_audit_log by created_at: event_type Text, user_id Id, subject_handle Text, success Bool,
        ip_address Text, reason Text;
    access_control_audit_log by created_at: subject_type Text, subject_id Text, action Text,
        resource_type Text, resource Text, decision Text, reason Text, task_id Id;
    system_settings_audit_log by changed_at: key Text, old_value Json, new_value Json, changed_by Id,
        reason Text;
    preference_audit_log by changed_at: entry_id Id, scope_type Text, scope_id Id, key Text,
        old_value Json, new_value Json, changed_by Id, reason Text;
    chat_audit_log by created_at: user_id Id, project_id Id, thread_id Id, model Text, outcome Text,
        error_code Text, redaction_applied Bool, redaction_kinds Json, duration_ms Int, request_id Text;
    egress_audit by created_at: call_id Id, agent Text, user_id Id, task_id Id, resource Text,
        decision Text, reason Text, credential_id Id, trace_id Text;
};
