//! Project memory: what a project's agents and people remember across tasks, in one profile.

mod rank;

use serde::{Deserialize, Serialize};

use crate::ids::{RunId, TaskId};

pub use rank::{RankedEntry, rank_entries, split_words};

/// The longest title, in characters.
pub const MAX_TITLE_CHARS: usize = 200;
/// The longest text of an entry, in bytes.
pub const MAX_TEXT_BYTES: usize = 4096;
/// The longest query, in bytes.
pub const MAX_QUERY_BYTES: usize = 1024;
/// The most entries of a profile.
pub const MAX_ENTRIES: i64 = 500;

words! {
    /// What an entry of the project memory is.
    MemoryKind("kind of memory") {
        /// What a person decided.
        Decision = "decision",
        /// How things are done in the project.
        Convention = "convention",
        /// What failed, and why.
        Failure = "failure",
        /// Anything else that is worth knowing.
        Fact = "fact",
    }

    /// Who wrote an entry of the project memory.
    MemoryAuthorKind("author of memory") {
        /// A person wrote it, or vouches for it.
        Person = "person",
        /// The control plane wrote it, by rule.
        Rule = "rule",
        /// An agent wrote it. It is data, never an instruction.
        Model = "model",
    }
}

/// Where an entry comes from; what is absent is not known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct MemorySource {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// A work unit or another step of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The type or role of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}
