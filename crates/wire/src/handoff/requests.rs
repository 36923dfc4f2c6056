//! Handoffs about submitted work: its kind, and its plan.

use cynode_domain::project_context::{ProjectAnalysis, ProjectContext};
use cynode_domain::work::WorkComponent;
use cynode_domain::work_kind::{WorkKind, WorkScope};
use serde::{Deserialize, Serialize};

use super::DecisionRecord;

/// `POST /v1/handoff/classify`: decides the kind of submitted work.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ClassifyHandoff {
    /// The submitted text.
    pub request: String,
    /// Labels of a forge issue.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Whether the text is a project brief.
    pub is_brief: bool,
}

/// The answer to [`ClassifyHandoff`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ClassifyAnswer {
    pub kind: WorkKind,
    /// Why, in one sentence.
    pub reason: String,
    #[serde(default)]
    pub decisions: Vec<DecisionRecord>,
}

/// `POST /v1/handoff/plan_work`: decides the scope and the components of classified work.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlanWorkHandoff {
    /// The submitted text.
    pub request: String,
    #[serde(default)]
    pub labels: Vec<String>,
    pub kind: WorkKind,
    /// The scope that a person decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<WorkScope>,
    pub context: ProjectContext,
}

/// The answer to [`PlanWorkHandoff`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PlanWorkAnswer {
    pub scope: WorkScope,
    /// Why, in one or two sentences.
    pub reason: String,
    pub components: Vec<WorkComponent>,
    /// What a model added to the context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<ProjectAnalysis>,
    #[serde(default)]
    pub decisions: Vec<DecisionRecord>,
}
