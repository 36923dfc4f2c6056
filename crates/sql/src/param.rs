//! Statement parameters, encoded for either engine.

use chrono::{DateTime, Utc};
use cynode_domain::agent::{Activity, MessageKind};
use cynode_domain::ids::{
    AgentId, AgentProfileId, ArtifactId, CallId, CapabilityLeaseId, ChainId, ChangeId,
    ChatMessageId, ChatTurnId, CheckpointId, CredentialId, DecisionId, FindingId, ForgeId, GroupId,
    HolderId, IncarnationId, InferenceId, JobId, KnowledgeDocumentId, LeaseId, MemoryEntryId,
    MessageId, NodeId, NoticeChannelId, NoticeDeliveryId, PreferenceId, ProfileId, ProjectId,
    RuleId, RunId, ScheduleId, ScheduleRunId, ServerId, SessionId, SkillId, TaskId, ThreadId,
    TokenId, ToolId, TraceEventId, TraceId, UserId,
};
use cynode_domain::policy::pattern::Pattern;
use cynode_domain::policy::{AgentType, CallStatus, Effect, Stage, ToolScope};
use cynode_domain::status::{
    AgentStatus, JobStatus, NodeStatus, RunStatus, TaskStatus, WorkUnitStatus,
};
use cynode_domain::work::UnitKind;
use rusqlite::types::{ToSqlOutput, Value as SqliteValue, ValueRef};
use serde_json::Value as Json;
use tokio_postgres::types::{IsNull, ToSql, Type, private::BytesMut, to_sql_checked};
use uuid::Uuid;

/// A statement parameter.
#[derive(Debug, Clone)]
pub enum Param {
    Null,
    Bool(bool),
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
    Uuid(Uuid),
    Time(DateTime<Utc>),
    Json(Json),
    /// On PostgreSQL only.
    Array(Vec<Self>),
}

impl Param {
    /// Whether a text contains the NUL character, which PostgreSQL cannot store.
    pub fn contains_nul(&self) -> bool {
        match self {
            Self::Text(text) => text.contains('\0'),
            Self::Array(items) => items.iter().any(Self::contains_nul),
            Self::Null
            | Self::Bool(_)
            | Self::Int(_)
            | Self::Bytes(_)
            | Self::Uuid(_)
            | Self::Time(_)
            | Self::Json(_) => false,
        }
    }

    /// The approximate size of text and JSON.
    pub fn text_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Json(json) => json_bytes(json),
            Self::Bytes(bytes) => bytes.len(),
            Self::Array(items) => items.iter().map(Self::text_bytes).sum(),
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Uuid(_) | Self::Time(_) => 0,
        }
    }
}

fn json_bytes(json: &Json) -> usize {
    match json {
        Json::String(text) => text.len(),
        Json::Array(items) => items.iter().map(json_bytes).sum(),
        Json::Object(fields) => fields.iter().map(|(key, item)| key.len() + json_bytes(item)).sum(),
        Json::Null | Json::Bool(_) | Json::Number(_) => 0,
    }
}

/// The parameters of a statement, `$1` first.
#[macro_export]
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$($crate::Param::from($value)),*]
    };
}

macro_rules! param_from {
    ($($source:ty => |$value:ident| $param:expr,)*) => {$(
        impl From<$source> for Param {
            fn from($value: $source) -> Self {
                $param
            }
        }
    )*};
}

param_from! {
    bool => |value| Self::Bool(value),
    i64 => |value| Self::Int(value),
    u32 => |value| Self::Int(i64::from(value)),
    &str => |value| Self::Text(value.to_owned()),
    String => |value| Self::Text(value),
    &String => |value| Self::Text(value.clone()),
    Vec<u8> => |value| Self::Bytes(value),
    &[u8] => |value| Self::Bytes(value.to_vec()),
    Uuid => |value| Self::Uuid(value),
    DateTime<Utc> => |value| Self::Time(value),
    Json => |value| Self::Json(value),
    &Json => |value| Self::Json(value.clone()),
    TaskStatus => |value| Self::Text(value.as_str().to_owned()),
    RunStatus => |value| Self::Text(value.as_str().to_owned()),
    JobStatus => |value| Self::Text(value.as_str().to_owned()),
    AgentStatus => |value| Self::Text(value.as_str().to_owned()),
    WorkUnitStatus => |value| Self::Text(value.as_str().to_owned()),
    Activity => |value| Self::Text(value.as_str().to_owned()),
    MessageKind => |value| Self::Text(value.as_str().to_owned()),
    UnitKind => |value| Self::Text(value.as_str().to_owned()),
    NodeStatus => |value| Self::Text(value.as_str().to_owned()),
    CallStatus => |value| Self::Text(value.as_str().to_owned()),
    AgentType => |value| Self::Text(value.as_str().to_owned()),
    Effect => |value| Self::Text(value.as_str().to_owned()),
    Stage => |value| Self::Text(value.as_str().to_owned()),
    ToolScope => |value| Self::Text(value.as_str().to_owned()),
    &Pattern => |value| Self::Text(value.as_str().to_owned()),
}

macro_rules! param_from_ids {
    ($($id:ty),* $(,)?) => {$(
        impl From<$id> for Param {
            fn from(id: $id) -> Self {
                Self::Uuid(id.as_uuid())
            }
        }
    )*};
}

param_from_ids!(
    AgentId,
    AgentProfileId,
    CapabilityLeaseId,
    ArtifactId,
    CallId,
    ChainId,
    ChatMessageId,
    ChangeId,
    ChatTurnId,
    CheckpointId,
    CredentialId,
    DecisionId,
    FindingId,
    ForgeId,
    GroupId,
    HolderId,
    IncarnationId,
    InferenceId,
    JobId,
    LeaseId,
    MemoryEntryId,
    KnowledgeDocumentId,
    MessageId,
    NodeId,
    NoticeChannelId,
    NoticeDeliveryId,
    PreferenceId,
    ProfileId,
    ProjectId,
    RuleId,
    RunId,
    ScheduleId,
    ScheduleRunId,
    ServerId,
    SessionId,
    SkillId,
    TaskId,
    ThreadId,
    TokenId,
    ToolId,
    TraceEventId,
    TraceId,
    UserId
);

impl<T: Into<Param>> From<Option<T>> for Param {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl rusqlite::ToSql for Param {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Null => ToSqlOutput::Owned(SqliteValue::Null),
            Self::Bool(value) => ToSqlOutput::Owned(SqliteValue::Integer(i64::from(*value))),
            Self::Int(value) => ToSqlOutput::Owned(SqliteValue::Integer(*value)),
            Self::Text(value) => ToSqlOutput::Borrowed(ValueRef::Text(value.as_bytes())),
            Self::Bytes(value) => ToSqlOutput::Borrowed(ValueRef::Blob(value)),
            Self::Uuid(value) => ToSqlOutput::Owned(SqliteValue::Text(value.to_string())),
            Self::Time(value) => ToSqlOutput::Owned(SqliteValue::Integer(value.timestamp_micros())),
            Self::Json(value) => ToSqlOutput::Owned(SqliteValue::Text(value.to_string())),
            Self::Array(_) => {
                let error = "SQLite has no arrays".into();
                return Err(rusqlite::Error::ToSqlConversionFailure(error));
            }
        })
    }
}

impl ToSql for Param {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Bool(value) => value.to_sql(ty, out),
            Self::Int(value) => value.to_sql(ty, out),
            Self::Text(value) => value.to_sql(ty, out),
            Self::Bytes(value) => value.to_sql(ty, out),
            Self::Uuid(value) => value.to_sql(ty, out),
            Self::Time(value) => value.to_sql(ty, out),
            Self::Json(value) => value.to_sql(ty, out),
            Self::Array(items) => items.to_sql(ty, out),
        }
    }

    /// The schema determines the type; the server rejects a mismatch.
    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
