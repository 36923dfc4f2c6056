//! Decision: the kind of work of a request.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{contains_phrase, enum_schema, object_schema, text_schema};
use crate::brain::{BrainDecision, RuleAnswer};
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

/// Classifies a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassifyRequest {
    pub request: String,
    /// Whether the root of the project has a `PROJECT-BRIEF.md`.
    pub has_brief: bool,
}

/// The kind of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkKind {
    NewProject,
    FeatureRequest,
    QuickFix,
}

impl WorkKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NewProject => "new_project",
            Self::FeatureRequest => "feature_request",
            Self::QuickFix => "quick_fix",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestClassification {
    pub kind: WorkKind,
    pub reason: String,
}

impl RequestClassification {
    fn rule_answer(kind: WorkKind, reason: &str) -> RuleAnswer<Self> {
        let answer = Self { kind, reason: reason.to_owned() };
        RuleAnswer::new(answer, format!("{}: {reason}", kind.as_str()))
    }
}

impl BrainDecision for ClassifyRequest {
    type Answer = RequestClassification;

    const PURPOSE: &'static str = "classify";
    const HINT: &'static str = "fast";

    fn schema(&self) -> Value {
        object_schema(&json!({
            "kind": enum_schema("The kind of work.", &["new_project", "feature_request", "quick_fix"]),
            "reason": text_schema("Why, in one sentence.", 500),
        }))
    }

    fn prompt(&self) -> String {
        let request = untrusted::quote("request", &self.request, 16 * 1024);
        format!(
            "What kind of work is this request: a new project, a feature of an existing project, or \
             a quick fix of something that is wrong?\n\n{request}"
        )
    }

    fn decide_by_rule(&self) -> Option<RuleAnswer<RequestClassification>> {
        if self.has_brief {
            return Some(RequestClassification::rule_answer(
                WorkKind::NewProject,
                "there is a project brief",
            ));
        }
        let says = [NEW, FIX, FEATURE].map(|words| contains_phrase(&self.request, words));
        match says {
            [true, false, _] => Some(RequestClassification::rule_answer(
                WorkKind::NewProject,
                "it asks for something new",
            )),
            [false, true, false] => {
                Some(RequestClassification::rule_answer(WorkKind::QuickFix, "it reports a defect"))
            }
            [false, false, true] => Some(RequestClassification::rule_answer(
                WorkKind::FeatureRequest,
                "it asks for an addition",
            )),
            _ => None,
        }
    }

    fn fallback(&self) -> RuleAnswer<RequestClassification> {
        RequestClassification::rule_answer(
            WorkKind::FeatureRequest,
            "the default for unclear requests",
        )
    }

    fn summarize(answer: &RequestClassification) -> String {
        format!("{}: {}", answer.kind.as_str(), answer.reason)
    }
}
