//! The decisions of the project manager and its analysts, one file each.
//!
//! A file holds the question, the schema of its answer, the rule that decides before a model, and the fallback
//! rule. To add a decision, copy `route.rs` and list it in [`recheck`].

mod clarify;
mod classify;
mod codebase;
mod commands;
mod components;
mod continue_run;
mod failure;
mod judge;
mod place;
mod plan;
mod refine;
mod replan;
mod review;
mod review_cap;
mod route;
mod schedule;
mod scope;
mod tests_needed;
mod written_files;

use cynode_domain::work_kind::{WorkKind, WorkScope};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub use clarify::{AnswerClarification, ClarificationAnswer};
pub use classify::{ClassifyRequest, RequestClassification};
pub use codebase::{AnalyseCodebase, ProjectSketch};
pub use commands::explicit_commands;
pub use components::{IdentifiedComponents, IdentifyComponents};
pub use continue_run::{ContinueBlockedRun, RunContinuation};
pub use failure::{FailureAction, FailureHandling, HandleFailure};
pub use judge::{CriteriaJudgements, CriterionJudgement, EvidenceFile, JudgeCriteria};
pub use place::{JobPlacementChoice, PlaceJob};
pub use plan::{PlanBackground, PlanRequestSteps, PlannedCommand, PlannedCommands};
pub use refine::{AddedCheck, CheckKind, CriteriaRefinement, RefineCriteria};
pub use replan::{ReplanRejectedStep, ReplannedCommand};
pub use review::{
    ArtifactIssue, ArtifactReview, IssueWeight, ReviewArtifact, ReviewVerdict, ToolCheck,
};
pub use review_cap::{CapAction, CapDecision, ReviewCapExceeded};
pub use route::{RouteAmbiguity, RoutedRole};
pub use schedule::{DueTask, DueTasks, InterpretSchedule};
pub use scope::{AssessScope, ScopeAssessment};
pub use tests_needed::{TestsDecision, TestsNeeded};

use super::answer::validate_answer;
use super::{Brain, BrainDecision, ModelExchange};

/// The result of checking a recorded exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recheck {
    /// The current key of the question.
    pub key: String,
    /// A summary of the recorded answer, or why it is no longer accepted.
    pub answer: Result<String, String>,
}

/// Validates a recorded answer against the current question and schema; `None` if the purpose is not a decision.
pub fn recheck(brain: &Brain, purpose: &str, input: &Value, answer: &Value) -> Option<Recheck> {
    let all = [
        recheck_as::<AnswerClarification>,
        recheck_as::<ClassifyRequest>,
        recheck_as::<AnalyseCodebase>,
        recheck_as::<IdentifyComponents>,
        recheck_as::<ContinueBlockedRun>,
        recheck_as::<HandleFailure>,
        recheck_as::<JudgeCriteria>,
        recheck_as::<PlaceJob>,
        recheck_as::<PlanRequestSteps>,
        recheck_as::<RefineCriteria>,
        recheck_as::<ReplanRejectedStep>,
        recheck_as::<ReviewArtifact>,
        recheck_as::<ReviewCapExceeded>,
        recheck_as::<RouteAmbiguity>,
        recheck_as::<InterpretSchedule>,
        recheck_as::<AssessScope>,
        recheck_as::<TestsNeeded>,
    ];
    all.iter().find_map(|check| check(brain, purpose, input, answer))
}

fn recheck_as<D: BrainDecision + DeserializeOwned>(
    brain: &Brain,
    purpose: &str,
    input: &Value,
    answer: &Value,
) -> Option<Recheck> {
    if purpose != D::PURPOSE {
        return None;
    }
    let question = match D::deserialize(input) {
        Ok(question) => question,
        Err(fault) => {
            let answer = Err(format!("the recorded input is of another version: {fault}"));
            return Some(Recheck { key: String::new(), answer });
        }
    };
    let exchange = ModelExchange::new(D::PURPOSE, input.clone(), brain.build_request(&question));
    let answer = validate_answer(&question, answer).map(|answer| D::summarize(&answer));
    Some(Recheck { key: exchange.key(), answer })
}

/// The schema of an object with these fields, all required.
fn object_schema(fields: &Value) -> Value {
    let required: Vec<&String> = fields.as_object().into_iter().flatten().map(|(k, _)| k).collect();
    let required = json!(required);
    json!({
        "type": "object", "properties": fields, "required": required,
        "additionalProperties": false,
    })
}

/// The schema of a non-empty text.
fn text_schema(about: &str, max: usize) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": max, "description": about })
}

/// The schema of a list of texts.
fn text_list_schema(about: &str, max_items: usize) -> Value {
    json!({
        "type": "array", "maxItems": max_items, "description": about,
        "items": { "type": "string", "minLength": 1, "maxLength": 2000 },
    })
}

/// The schema of an enumeration.
fn enum_schema(about: &str, words: &[&str]) -> Value {
    json!({ "enum": words, "description": about })
}

#[cfg(test)]
mod tests;
