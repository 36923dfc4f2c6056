//! Decision: the size of a piece of work.

use cynode_domain::work_kind::{WorkKind, WorkScope};
use cynode_planning::intake::{Ruling, Submission, assess_scope};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{enum_schema, object_schema, text_list_schema, text_schema};
use crate::brain::{BrainDecision, RuleAnswer};
use crate::context::untrusted;

/// Assesses the size of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AssessScope {
    pub request: String,
    pub kind: WorkKind,
    /// Facts about the project, as text.
    pub project: String,
    /// Labels of a forge issue.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

impl AssessScope {
    fn ruling(&self) -> Ruling<WorkScope> {
        let (text, labels) = (self.request.as_str(), self.labels.as_slice());
        assess_scope(&Submission { text, labels, is_brief: false }, self.kind, None)
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
    fn from_ruling(ruling: &Ruling<WorkScope>) -> RuleAnswer<Self> {
        let (scope, why) = (ruling.value, &ruling.reason);
        let answer = Self { reasoning: why.clone(), ..Self::decided_by_person(scope) };
        RuleAnswer::new(answer, format!("{}: {why}", scope.as_str()))
    }

    /// The assessment of a person, who gives no estimate.
    pub fn decided_by_person(scope: WorkScope) -> Self {
        let estimated_files = match scope {
            WorkScope::Trivial | WorkScope::Small => 1,
            WorkScope::Medium => 5,
            WorkScope::Large => 20,
        };
        let (components_affected, reasoning) = (vec![], "decided by a person".to_owned());
        Self { scope, estimated_files, components_affected, reasoning }
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
        let ruling = self.ruling();
        ruling.is_certain.then(|| ScopeAssessment::from_ruling(&ruling))
    }

    fn fallback(&self) -> RuleAnswer<ScopeAssessment> {
        ScopeAssessment::from_ruling(&self.ruling())
    }

    fn find_objection(&self, answer: &ScopeAssessment) -> Option<String> {
        let is_little = answer.scope <= WorkScope::Small;
        if is_little && (answer.estimated_files > 3 || answer.components_affected.len() > 1) {
            return Some(format!("{} does not fit more than one file or component", answer.scope));
        }
        let ruling = self.ruling();
        (ruling.is_certain && ruling.value != answer.scope).then(|| {
            format!("{} does not fit: {}, so it is {}", answer.scope, ruling.reason, ruling.value)
        })
    }

    fn summarize(answer: &ScopeAssessment) -> String {
        format!("{}: {}", answer.scope.as_str(), answer.reasoning)
    }
}
