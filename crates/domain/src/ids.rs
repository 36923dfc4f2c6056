//! Typed identifiers: one newtype per kind of thing, UUID v7 inside.
//!
//! On the wire an id is a plain lowercase UUID; in debug output it names its kind.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! typed_ids {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
        #[serde(transparent)]
        #[schema(value_type = Uuid)]
        pub struct $name(Uuid);

        impl $name {
            /// A fresh, time-ordered id. Called in `ops` and in tests, never in a store.
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }

            /// The bare UUID, for the database and the wire.
            pub const fn as_uuid(self) -> Uuid {
                self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(raw: Uuid) -> Self {
                Self(raw)
            }
        }

        impl From<$name> for Uuid {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl FromStr for $name {
            type Err = uuid::Error;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Uuid::parse_str(text).map(Self)
            }
        }
    )*};
}

typed_ids! {
    /// A person or service account.
    UserId,
    /// A refresh-token session of a signed-in user.
    SessionId,
    /// A long-lived API token of a user.
    TokenId,
    /// A container for tasks.
    ProjectId,
    /// A piece of work a user asked for.
    TaskId,
    /// One execution of a task's workflow.
    RunId,
    /// One step attempt handed to a worker node.
    JobId,
    /// A file that belongs to a task.
    ArtifactId,
    /// A worker node.
    NodeId,
    /// One process of a worker node, from its start to its end.
    IncarnationId,
    /// One life of an agent on a task.
    AgentId,
    /// A message between an agent and the project manager.
    MessageId,
    /// What an agent has done so far, for its successor.
    CheckpointId,
    /// A preference of some scope.
    PreferenceId,
    /// A skill that agents can read.
    SkillId,
    /// What a verification found.
    FindingId,
    /// A process that may hold a task's lease.
    HolderId,
    /// One grant of the right to drive a task.
    LeaseId,
    /// An MCP server that somebody installed.
    ServerId,
    /// A tool that agents can call.
    ToolId,
    /// A credential for a provider.
    CredentialId,
    /// One call to a model.
    InferenceId,
    /// An access rule.
    RuleId,
    /// A group of users.
    GroupId,
    /// One change of a preference, a setting or what access is decided by, on record.
    ChangeId,
    /// One tool call, in the audit log.
    CallId,
    /// One writer's chain of audit records.
    ChainId,
    /// A decision of the project manager.
    DecisionId,
    /// A conversation of a user in a project.
    ThreadId,
    /// One message of a conversation.
    ChatMessageId,
    /// One request to chat, in the record of them.
    ChatTurnId,
    /// Work that comes due by the clock.
    ScheduleId,
    /// One time at which a schedule came due.
    ScheduleRunId,
    /// Follows one request through every process and log line.
    TraceId,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_a_bare_uuid_on_the_wire_and_named_in_debug() {
        let id = TaskId::from(Uuid::nil());

        assert_eq!(serde_json::to_string(&id).unwrap(), "\"00000000-0000-0000-0000-000000000000\"");
        assert_eq!(format!("{id:?}"), "TaskId(00000000-0000-0000-0000-000000000000)");
    }

    #[test]
    fn generated_ids_sort_by_creation() {
        let ids: Vec<_> = (0..100).map(|_| JobId::generate()).collect();

        assert!(ids.is_sorted());
    }
}
