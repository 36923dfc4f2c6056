//! Decision: the size of a piece of work.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{WorkKind, contains_phrase, enum_schema, object_schema, text_list_schema, text_schema};
use crate::brain::{BrainDecision, RuleAnswer};
use crate::context::untrusted;

const TRIVIAL: &[&str] =
    &["typo", "typos", "one line", "one-liner", "rename a variable", "spelling", "wording"];

/// Assesses the size of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssessScope {
    pub request: String,
    pub kind: WorkKind,
    /// Facts about the project, as text.
    pub project: String,
}

/// The size of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkScope {
    /// One line.
    Trivial,
    /// One file.
    Small,
    /// Several files of one component.
    Medium,
    /// Several components, or the architecture.
    Large,
}

impl WorkScope {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trivial => "trivial",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScopeAssessment {
    pub scope: WorkScope,
    /// The estimated number of changed files.
    pub estimated_files: u32,
    /// The affected parts of the project.
    pub components_affected: Vec<String>,
    pub reasoning: String,
}

impl ScopeAssessment {
    fn rule_answer(scope: WorkScope, estimated_files: u32, why: &str) -> RuleAnswer<Self> {
        let (components_affected, reasoning) = (vec![], why.to_owned());
        let answer = Self { scope, estimated_files, components_affected, reasoning };
        RuleAnswer::new(answer, format!("{}: {why}", scope.as_str()))
    }
}

impl BrainDecision for AssessScope {
    type Answer = ScopeAssessment;

    const PURPOSE: &'static str = "assess_scope";
    const HINT: &'static str = "balanced";

    fn schema(&self) -> Value {
        let scope = "trivial: one line. small: one file. medium: several files of one component. \
                     large: several components, or the architecture.";
        object_schema(&json!({
            "scope": enum_schema(scope, &["trivial", "small", "medium", "large"]),
            "estimated_files": { "type": "integer", "minimum": 0, "maximum": 100_000 },
            "components_affected": text_list_schema("Changed parts of the project.", 50),
            "reasoning": text_schema("Why, in one or two sentences.", 1000),
        }))
    }

    fn prompt(&self) -> String {
        let request = untrusted::quote("request", &self.request, 16 * 1024);
        let project = untrusted::quote("project", &self.project, 8 * 1024);
        let kind = self.kind.as_str();
        format!("Assess this work's scope ({kind}).\n\n{request}\n\nThe project:\n{project}")
    }

    fn decide_by_rule(&self) -> Option<RuleAnswer<ScopeAssessment>> {
        if self.kind == WorkKind::NewProject {
            return Some(ScopeAssessment::rule_answer(
                WorkScope::Large,
                20,
                "a new project needs every part",
            ));
        }
        let is_trivial = self.kind == WorkKind::QuickFix && contains_phrase(&self.request, TRIVIAL);
        is_trivial
            .then(|| ScopeAssessment::rule_answer(WorkScope::Trivial, 1, "it changes one line"))
    }

    fn fallback(&self) -> RuleAnswer<ScopeAssessment> {
        match self.kind {
            WorkKind::QuickFix => {
                ScopeAssessment::rule_answer(WorkScope::Small, 1, "the default for fixes")
            }
            WorkKind::NewProject | WorkKind::FeatureRequest => ScopeAssessment::rule_answer(
                WorkScope::Medium,
                5,
                "the default for unclear requests",
            ),
        }
    }

    fn find_objection(&self, answer: &ScopeAssessment) -> Option<String> {
        let is_little = answer.scope <= WorkScope::Small;
        if is_little && (answer.estimated_files > 3 || answer.components_affected.len() > 1) {
            let scope = answer.scope.as_str();
            return Some(format!("{scope} does not fit more than one file or component"));
        }
        None
    }

    fn summarize(answer: &ScopeAssessment) -> String {
        format!("{}: {}", answer.scope.as_str(), answer.reasoning)
    }
}
