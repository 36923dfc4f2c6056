//! What kind of work a request is.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{mentions, object, one_of, text};
use crate::brain::{Decision, Ruling};
use crate::context::untrusted;

const FIX: &[&str] = &[
    "fix",
    "bug",
    "bugs",
    "hotfix",
    "typo",
    "typos",
    "crash",
    "crashes",
    "broken",
    "regression",
    "doesn't work",
    "does not work",
    "stack trace",
    "repair",
];
const NEW: &[&str] =
    &["new project", "from scratch", "greenfield", "scaffold", "new application", "new app"];
const FEATURE: &[&str] =
    &["add", "implement", "support", "feature", "introduce", "extend", "enhance", "toggle"];

/// What kind of work is this?
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classify {
    /// The request.
    pub request: String,
    /// Whether there is a `PROJECT-BRIEF.md` at the root of the project.
    pub has_brief: bool,
}

/// The kinds of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    /// Something that does not exist yet.
    NewProject,
    /// Something new in what exists.
    FeatureRequest,
    /// Something that is wrong in what exists.
    QuickFix,
}

impl WorkKind {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NewProject => "new_project",
            Self::FeatureRequest => "feature_request",
            Self::QuickFix => "quick_fix",
        }
    }
}

/// The kind of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Classified {
    /// The kind.
    pub kind: WorkKind,
    /// Why.
    pub reason: String,
}

impl Classified {
    fn ruled(kind: WorkKind, reason: &str) -> Ruling<Self> {
        let answer = Self { kind, reason: reason.to_owned() };
        Ruling::new(answer, format!("{}: {reason}", kind.as_str()))
    }
}

impl Decision for Classify {
    type Answer = Classified;

    const PURPOSE: &'static str = "classify";
    const HINT: &'static str = "fast";

    fn schema(&self) -> Value {
        object(&json!({
            "kind": one_of("The kind of work.", &["new_project", "feature_request", "quick_fix"]),
            "reason": text("Why, in one sentence.", 500),
        }))
    }

    fn prompt(&self) -> String {
        let request = untrusted::quote("request", &self.request, 16 * 1024);
        format!(
            "What kind of work is this request: a new project, a feature of an existing project, or \
             a quick fix of something that is wrong?\n\n{request}"
        )
    }

    fn by_rule(&self) -> Option<Ruling<Classified>> {
        if self.has_brief {
            return Some(Classified::ruled(WorkKind::NewProject, "there is a project brief"));
        }
        let says = [NEW, FIX, FEATURE].map(|words| mentions(&self.request, words));
        match says {
            [true, false, _] => {
                Some(Classified::ruled(WorkKind::NewProject, "it asks for something new"))
            }
            [false, true, false] => {
                Some(Classified::ruled(WorkKind::QuickFix, "it says that something is wrong"))
            }
            [false, false, true] => {
                Some(Classified::ruled(WorkKind::FeatureRequest, "it asks for an addition"))
            }
            _ => None,
        }
    }

    fn fallback(&self) -> Ruling<Classified> {
        Classified::ruled(WorkKind::FeatureRequest, "what is not clear is taken for a feature")
    }

    fn summary(answer: &Classified) -> String {
        format!("{}: {}", answer.kind.as_str(), answer.reason)
    }
}
