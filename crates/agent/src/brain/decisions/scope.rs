//! How big a piece of work is.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{WorkKind, mentions, object, one_of, text, texts};
use crate::brain::{Decision, Ruling};
use crate::context::untrusted;

const TRIVIAL: &[&str] =
    &["typo", "typos", "one line", "one-liner", "rename a variable", "spelling", "wording"];

/// How big is this?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssessScope {
    /// The request.
    pub request: String,
    /// What kind of work it is.
    pub kind: WorkKind,
    /// What is known of the project, in words.
    pub project: String,
}

/// How big work is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// A line.
    Trivial,
    /// A file.
    Small,
    /// Several files of one component.
    Medium,
    /// Several components, or the architecture.
    Large,
}

impl Scope {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Trivial => "trivial",
            Self::Small => "small",
            Self::Medium => "medium",
            Self::Large => "large",
        }
    }
}

/// The scope of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scoped {
    /// How big.
    pub scope: Scope,
    /// About how many files change.
    pub estimated_files: u32,
    /// Which parts of the project.
    pub components_affected: Vec<String>,
    /// Why.
    pub reasoning: String,
}

impl Scoped {
    fn ruled(scope: Scope, estimated_files: u32, why: &str) -> Ruling<Self> {
        let (components_affected, reasoning) = (vec![], why.to_owned());
        let answer = Self { scope, estimated_files, components_affected, reasoning };
        Ruling::new(answer, format!("{}: {why}", scope.as_str()))
    }
}

impl Decision for AssessScope {
    type Answer = Scoped;

    const PURPOSE: &'static str = "assess_scope";
    const HINT: &'static str = "balanced";

    fn schema(&self) -> Value {
        let scope = "trivial: one line. small: one file. medium: several files of one component. \
                     large: several components, or the architecture.";
        object(&json!({
            "scope": one_of(scope, &["trivial", "small", "medium", "large"]),
            "estimated_files": { "type": "integer", "minimum": 0, "maximum": 100_000 },
            "components_affected": texts("Parts of the project that change.", 50),
            "reasoning": text("Why, in one or two sentences.", 1000),
        }))
    }

    fn prompt(&self) -> String {
        let request = untrusted::quote("request", &self.request, 16 * 1024);
        let project = untrusted::quote("project", &self.project, 8 * 1024);
        let kind = self.kind.as_str();
        format!("How big is this work ({kind})?\n\n{request}\n\nThe project:\n{project}")
    }

    fn by_rule(&self) -> Option<Ruling<Scoped>> {
        if self.kind == WorkKind::NewProject {
            return Some(Scoped::ruled(Scope::Large, 20, "a new project has every part to make"));
        }
        let is_trivial = self.kind == WorkKind::QuickFix && mentions(&self.request, TRIVIAL);
        is_trivial.then(|| Scoped::ruled(Scope::Trivial, 1, "it is about a line"))
    }

    fn fallback(&self) -> Ruling<Scoped> {
        match self.kind {
            WorkKind::QuickFix => Scoped::ruled(Scope::Small, 1, "a fix is taken for small"),
            WorkKind::NewProject | WorkKind::FeatureRequest => {
                Scoped::ruled(Scope::Medium, 5, "what is not clear is taken for medium")
            }
        }
    }

    fn objection(&self, answer: &Scoped) -> Option<String> {
        let is_little = answer.scope <= Scope::Small;
        if is_little && (answer.estimated_files > 3 || answer.components_affected.len() > 1) {
            let scope = answer.scope.as_str();
            return Some(format!("{scope} does not fit more than one file or component"));
        }
        None
    }

    fn summary(answer: &Scoped) -> String {
        format!("{}: {}", answer.scope.as_str(), answer.reasoning)
    }
}
