//! What an agent is given: the structured context of a unit, which its prompt is rendered from.

use std::collections::BTreeMap;

use cynode_domain::project_context::ProjectContext;
use cynode_domain::report::ReviewFeedback;
use cynode_domain::text::ellipsize_chars;
use cynode_domain::work::UnitKind;
use serde::{Deserialize, Serialize};

use crate::file_guesses::guess_files;
use crate::requirements::list_requirements;

/// The longest summary of a task.
const MAX_SUMMARY_CHARS: usize = 300;

/// The context of a unit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct StructuredContext {
    /// One or two sentences.
    pub task_summary: String,
    pub requirements: Vec<String>,
    /// The request as it was submitted.
    pub request: String,
    pub architecture: String,
    pub key_paths: BTreeMap<String, String>,
    pub patterns: BTreeMap<String, String>,
    /// Paths that the work probably changes.
    pub files_to_modify: Vec<String>,
    /// Interfaces and examples.
    pub files_to_read_first: Vec<String>,
    /// A file that the work should look like.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pattern_reference: Option<String>,
    pub constraints: Vec<String>,
    /// The commands that must pass.
    pub test_commands: Vec<String>,
    /// The result of the architect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec_artifact_path: Option<String>,
    /// The result of the designer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub design_artifact_path: Option<String>,
    /// What a review requires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision_feedback: Option<ReviewFeedback>,
    /// What people and checks said about the pull request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub people_comments: Vec<String>,
    /// What failed in the attempt before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<String>,
    /// The newest checkpoint of its agent: data, never instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
    /// How to go on after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// What a person said.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<String>,
    /// How the scope of the unit changed since it was planned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scope_changes: Vec<String>,
    /// How the scope of the work that a review judges changed since it was planned.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub judged_scope_changes: Vec<String>,
    /// Whether a change reduced the scope of a review or of the work that it judges.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_scope_reduced: bool,
    /// What agents answered on behalf of the person: data, never instructions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agent_answers: Vec<String>,
    /// What the project remembers of earlier work: data, never instructions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<String>,
    /// Passages of the project's documents with citations: data, never instructions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub knowledge: Vec<String>,
}

/// The unit that a context is for.
#[derive(Debug, Clone, Copy)]
pub struct UnitSubject<'a> {
    pub kind: UnitKind,
    pub component: &'a str,
    /// The description of the component; the request if the work is one component.
    pub description: &'a str,
    /// The kinds of units of its component.
    pub present: &'a [UnitKind],
}

impl StructuredContext {
    /// The context of a unit of a request.
    pub fn for_unit(request: &str, project: &ProjectContext, unit: UnitSubject<'_>) -> Self {
        let guesses = guess_files(&format!("{}\n{}", unit.description, request), project);
        let has = |kind: UnitKind| unit.present.contains(&kind) && unit.kind > kind;
        let mut constraints = vec!["Change only what the task needs.".to_owned()];
        if unit.kind == UnitKind::Implementation {
            constraints.push("Do not delete, skip or weaken tests.".to_owned());
        }
        Self {
            task_summary: summarize(unit.description),
            requirements: list_requirements(request),
            request: request.to_owned(),
            architecture: project.architecture.clone(),
            key_paths: project.key_paths.clone(),
            patterns: project.patterns.clone(),
            files_to_modify: guesses.to_modify,
            files_to_read_first: guesses.to_read,
            pattern_reference: guesses.pattern,
            constraints,
            test_commands: project.test_commands.clone(),
            spec_artifact_path: has(UnitKind::Spec)
                .then(|| artifact_path(UnitKind::Spec, unit.component))
                .flatten(),
            design_artifact_path: has(UnitKind::Design)
                .then(|| artifact_path(UnitKind::Design, unit.component))
                .flatten(),
            ..Self::default()
        }
    }
}

/// Where the document of a unit is written; `None` for units that change code.
pub fn artifact_path(kind: UnitKind, component: &str) -> Option<String> {
    match kind {
        UnitKind::Spec => Some(format!("docs/specs/components/{component}.md")),
        UnitKind::Design => Some(format!("docs/design/{component}.md")),
        UnitKind::Implementation | UnitKind::Review | UnitKind::Test => None,
    }
}

/// The first sentences of a text, on one line.
pub fn summarize(text: &str) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let line = line.trim_start_matches('#').trim();
    ellipsize_chars(line, MAX_SUMMARY_CHARS).into_owned()
}
