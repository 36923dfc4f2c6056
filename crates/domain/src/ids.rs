//! Typed identifiers: one newtype over UUID v7 per resource.
//!
//! On the wire an id is a plain lowercase UUID; debug output includes the type.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::name_or_id::NameOrId;

/// Characters of a UUID with hyphens.
const UUID_CHARS: u32 = 36;

/// The JSON Schema of an id. The lengths bind validators that ignore `format`.
pub fn uuid_schema() -> schemars::Schema {
    schemars::json_schema!({
        "type": "string", "format": "uuid", "minLength": UUID_CHARS, "maxLength": UUID_CHARS,
    })
}

macro_rules! typed_ids {
    ($($(#[$doc:meta])* $name:ident,)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
        #[serde(transparent)]
        #[schema(value_type = Uuid)]
        pub struct $name(Uuid);

        impl $name {
            /// Generates a time-ordered id. Called by operations and tests, never by a store.
            pub fn generate() -> Self {
                Self(Uuid::now_v7())
            }

            /// The bare UUID, for the database and the wire.
            pub const fn as_uuid(self) -> Uuid {
                self.0
            }

            pub const fn from_uuid(id: Uuid) -> Self {
                Self(id)
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                uuid_schema()
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

        impl From<$name> for NameOrId<$name> {
            fn from(id: $name) -> Self {
                Self::Id(id)
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
    /// A piece of work that a user requested.
    TaskId,
    /// One execution of a task's workflow.
    RunId,
    /// One step attempt on a worker node.
    JobId,
    /// A file that belongs to a task.
    ArtifactId,
    /// A worker node.
    NodeId,
    /// One process of a worker node, from its start to its end.
    IncarnationId,
    /// One instance of an agent on a task.
    AgentId,
    /// A message between an agent and the project manager.
    MessageId,
    /// An agent's progress, saved for its successor.
    CheckpointId,
    /// A preference of a scope.
    PreferenceId,
    /// A skill that agents can read.
    SkillId,
    /// A finding of a verification.
    FindingId,
    /// A process that can hold a run's lease.
    HolderId,
    /// One grant of a run's lease.
    LeaseId,
    /// An installed MCP server.
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
    /// One recorded change of a preference, a setting or access.
    ChangeId,
    /// One tool call in the audit log.
    CallId,
    /// One writer's chain of audit records.
    ChainId,
    /// A decision of the project manager.
    DecisionId,
    /// A chat thread of a user in a project.
    ThreadId,
    /// One message of a chat thread.
    ChatMessageId,
    /// One recorded chat turn.
    ChatTurnId,
    /// A schedule.
    ScheduleId,
    /// One due time of a schedule.
    ScheduleRunId,
    /// Correlates one request across processes and logs.
    TraceId,
    /// A program of another vendor that works as an agent.
    AgentProfileId,
    /// What agents of a project may use: their unit of isolation.
    ProfileId,
    /// An entry of the project memory.
    MemoryEntryId,
    /// A document of the knowledge of a profile.
    KnowledgeDocumentId,
    /// A permission that a worker node verifies without the orchestrator.
    CapabilityLeaseId,
    /// The forge of a repository of a project.
    ForgeId,
    /// Where a user is notified.
    NoticeChannelId,
    /// One event of a trace that an agent recorded.
    TraceEventId,
    /// One notification on its way through one channel.
    NoticeDeliveryId,
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
