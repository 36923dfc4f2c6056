//! What is known about a project before work on it is planned.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::work_kind::ProjectKind;

/// The facts about a project that plans and prompts are built from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct ProjectContext {
    pub kind: ProjectKind,
    /// The text of its `CLAUDE.md` or `AGENTS.md`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guide: Option<String>,
    /// Its structure, in one or a few sentences.
    pub architecture: String,
    /// Paths by topic, such as `source` and `tests`.
    #[serde(default)]
    pub key_paths: BTreeMap<String, String>,
    /// Conventions by topic.
    #[serde(default)]
    pub patterns: BTreeMap<String, String>,
    #[serde(default)]
    pub build_commands: Vec<String>,
    /// The commands that must pass; empty if the project has no tests.
    #[serde(default)]
    pub test_commands: Vec<String>,
    pub has_tests: bool,
    /// Whether it has continuous integration.
    pub has_ci: bool,
    /// Whether it has a user interface.
    pub has_ui: bool,
    /// Whether it has a `PROJECT-BRIEF.md` at its root.
    pub has_brief: bool,
    /// How many files it has.
    pub file_count: u32,
    /// Paths of its files, at most [`ProjectContext::MAX_FILES`] of them.
    #[serde(default)]
    pub files: Vec<String>,
}

impl ProjectContext {
    /// The most paths that are kept.
    pub const MAX_FILES: usize = 2_000;
    /// The longest guide that is kept.
    pub const MAX_GUIDE_BYTES: usize = 32 * 1024;
}
