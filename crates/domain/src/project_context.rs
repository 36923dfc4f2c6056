//! What is known about a project before work on it is planned.

use std::collections::BTreeMap;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::text::{single_line, truncate_chars};
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
    /// Whether a model described what the files do not say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_analysed: bool,
}

/// The description that a model wrote of a project whose files have none. Agents and people read it; none of it is
/// executed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectAnalysis {
    pub architecture: String,
    /// Paths by topic.
    pub key_paths: BTreeMap<String, String>,
    /// Conventions by topic.
    pub patterns: BTreeMap<String, String>,
}

/// The hash of a tree in git, in lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TreeId(String);

impl TreeId {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text is no hash of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a hash of a tree has 40 or 64 lower-case hexadecimal digits")]
pub struct TreeIdError;

impl FromStr for TreeId {
    type Err = TreeIdError;

    fn from_str(text: &str) -> Result<Self, TreeIdError> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_id = matches!(text.len(), 40 | 64) && text.bytes().all(is_digit);
        if is_id { Ok(Self(text.to_owned())) } else { Err(TreeIdError) }
    }
}

impl TryFrom<String> for TreeId {
    type Error = TreeIdError;

    fn try_from(text: String) -> Result<Self, TreeIdError> {
        text.parse()
    }
}

impl From<TreeId> for String {
    fn from(id: TreeId) -> Self {
        id.0
    }
}

impl ProjectContext {
    /// The most paths that are kept.
    pub const MAX_FILES: usize = 2_000;
    /// The longest guide that is kept.
    pub const MAX_GUIDE_BYTES: usize = 32 * 1024;
    /// The longest architecture that a model adds, in characters.
    const MAX_ARCHITECTURE_CHARS: usize = 2_000;
    /// The most paths and conventions that a model adds, of each.
    const MAX_ENTRIES: usize = 20;
    /// The longest of them, in characters.
    const MAX_ENTRY_CHARS: usize = 300;

    /// The commands that build and test a fresh checkout, in their order; empty for a project without tests.
    pub fn verification_commands(&self) -> Vec<String> {
        if self.test_commands.is_empty() {
            return vec![];
        }
        self.build_commands.iter().chain(&self.test_commands).cloned().collect()
    }

    /// Adds what a model says. What the files say stays, and paths that do not exist are left out.
    pub fn add_analysis(&mut self, analysis: ProjectAnalysis) {
        let architecture = one_line(&analysis.architecture, Self::MAX_ARCHITECTURE_CHARS);
        if !architecture.is_empty() {
            self.architecture = architecture;
        }
        for (topic, path) in analysis.key_paths.into_iter().take(Self::MAX_ENTRIES) {
            let path = path.trim().trim_start_matches("./");
            let exists = !path.is_empty() && self.files.iter().any(|file| file.starts_with(path));
            if exists && path.chars().count() <= Self::MAX_ENTRY_CHARS {
                let topic = one_line(&topic, Self::MAX_ENTRY_CHARS);
                self.key_paths.entry(topic).or_insert_with(|| path.to_owned());
            }
        }
        for (topic, convention) in analysis.patterns.into_iter().take(Self::MAX_ENTRIES) {
            let topic = one_line(&topic, Self::MAX_ENTRY_CHARS);
            let convention = one_line(&convention, Self::MAX_ENTRY_CHARS);
            self.patterns.entry(topic).or_insert(convention);
        }
        self.is_analysed = true;
    }
}

/// A text on one line, without control characters, of at most `max_chars`.
fn one_line(text: &str, max_chars: usize) -> String {
    truncate_chars(&single_line(text), max_chars).to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn context(files: &[&str]) -> ProjectContext {
        let context = json!({
            "kind": "unknown", "architecture": "an unknown project", "has_tests": false, "has_ci": false,
            "has_ui": false, "has_brief": false, "file_count": files.len(), "files": files,
            "key_paths": { "source": "src/" },
        });
        serde_json::from_value(context).unwrap()
    }

    #[test]
    fn an_analysis_adds_what_the_files_do_not_say_and_invents_no_paths() {
        let mut context = context(&["src/bell.txt", "tower/clock.txt"]);
        let pairs = |entries: &[(&str, &str)]| {
            entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };

        context.add_analysis(ProjectAnalysis {
            architecture: "A bell\nthat\u{1b}[31m rings ".to_owned(),
            key_paths: pairs(&[
                ("clock", "./tower/"),
                ("keys", "/etc/shadow"),
                ("source", "tower/"),
            ]),
            patterns: pairs(&[("names", &"x".repeat(1000))]),
        });

        assert_eq!(context.architecture, "A bell that [31m rings");
        let paths: Vec<_> = context.key_paths.iter().map(|(key, path)| (&**key, &**path)).collect();
        assert_eq!(paths, [("clock", "tower/"), ("source", "src/")]);
        assert_eq!(context.patterns["names"].len(), 300);
        assert!(context.is_analysed);
    }

    #[test]
    fn only_hashes_name_a_tree() {
        let id = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        assert_eq!(id.parse::<TreeId>().unwrap().as_str(), id);
        assert!("ab".repeat(32).parse::<TreeId>().is_ok());
        for text in ["", "4b825dc", &id.to_uppercase(), &format!("{id}\n"), &"../".repeat(20)[..40]]
        {
            assert_eq!(text.parse::<TreeId>(), Err(TreeIdError), "{text}");
        }
    }
}
