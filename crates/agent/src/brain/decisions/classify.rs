//! Decision: the kind of work of a request.

use cynode_domain::work_kind::WorkKind;
use cynode_planning::intake::{Ruling, Submission, classify};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{enum_schema, object_schema, text_schema};
use crate::brain::{BrainDecision, RuleAnswer};
use crate::context::untrusted;

/// Classifies a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassifyRequest {
    pub request: String,
    /// Whether the root of the project has a `PROJECT-BRIEF.md`.
    pub has_brief: bool,
    /// Labels of a forge issue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

impl ClassifyRequest {
    fn ruling(&self) -> Ruling<WorkKind> {
        let (text, labels) = (self.request.as_str(), self.labels.as_slice());
        classify(&Submission { text, labels, is_brief: self.has_brief })
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
        let ruling = self.ruling();
        ruling.is_certain.then(|| RequestClassification::rule_answer(ruling.value, &ruling.reason))
    }

    fn fallback(&self) -> RuleAnswer<RequestClassification> {
        let ruling = self.ruling();
        RequestClassification::rule_answer(ruling.value, &ruling.reason)
    }

    fn find_objection(&self, answer: &RequestClassification) -> Option<String> {
        let ruling = self.ruling();
        (ruling.is_certain && ruling.value != answer.kind).then(|| {
            format!("{} does not fit: {}, so it is {}", answer.kind, ruling.reason, ruling.value)
        })
    }

    fn summarize(answer: &RequestClassification) -> String {
        format!("{}: {}", answer.kind.as_str(), answer.reason)
    }
}
