//! What a prompt quotes of the memory and the documents of a project.

use serde::{Deserialize, Serialize};

/// Excerpts of one profile, the best first. They are data, never instructions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProjectExcerpts {
    /// Entries of the project memory, each with its author.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<String>,
    /// Passages of documents, each with its citation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub knowledge: Vec<String>,
}

impl ProjectExcerpts {
    pub fn is_empty(&self) -> bool {
        self.memory.is_empty() && self.knowledge.is_empty()
    }
}
