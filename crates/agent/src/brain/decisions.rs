//! Every decision that the project manager and its analysts make, a file each.
//!
//! A file holds the question, the shape of its answer, the rules that decide without a model, and
//! the rule that decides when a model does not help. Adding one: copy `route.rs`, and name it in
//! [`recheck`].

mod choose;
mod clarify;
mod classify;
mod codebase;
mod commands;
mod components;
mod continuing;
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

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub use choose::{Choose, Chosen};
pub use clarify::{Clarified, Clarify};
pub use classify::{Classified, Classify, WorkKind};
pub use codebase::{AnalyseCodebase, ProjectSketch};
pub use commands::explicit_commands;
pub use components::{Components, IdentifyComponents};
pub use continuing::{ContinueRun, Continued};
pub use failure::{FailureAction, HandleFailure, Handled};
pub use judge::{Exhibit, JudgeCriteria, Judged, Judgement};
pub use place::{PlaceJob, Placed};
pub use plan::{PlanBackground, PlanSteps, Planned, PlannedCommand};
pub use refine::{AddedCheck, CheckKind, RefineCriteria, Refined};
pub use replan::{ReplanStep, Replanned};
pub use review::{Issue, IssueWeight, Review, ReviewArtifact, ReviewVerdict, ToolCheck};
pub use review_cap::{CapAction, CapDecision, ReviewCapExceeded};
pub use route::{RouteAmbiguity, Routed};
pub use schedule::{Due, DueTask, InterpretSchedule};
pub use scope::{AssessScope, Scope, Scoped};
pub use tests_needed::{TestsDecision, TestsNeeded};

use super::answer::accept;
use super::{Brain, Decision, Exchange};

/// What a recorded exchange is worth today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recheck {
    /// The key that the same question has today.
    pub key: String,
    /// What the recorded answer says, or why it would not be accepted today.
    pub answer: Result<String, String>,
}

/// Holds a recorded answer against today's question and schema; none for a purpose that is no
/// decision.
pub fn recheck(brain: &Brain, purpose: &str, input: &Value, answer: &Value) -> Option<Recheck> {
    let all = [
        of::<Choose>,
        of::<Clarify>,
        of::<Classify>,
        of::<AnalyseCodebase>,
        of::<IdentifyComponents>,
        of::<ContinueRun>,
        of::<HandleFailure>,
        of::<JudgeCriteria>,
        of::<PlaceJob>,
        of::<PlanSteps>,
        of::<RefineCriteria>,
        of::<ReplanStep>,
        of::<ReviewArtifact>,
        of::<ReviewCapExceeded>,
        of::<RouteAmbiguity>,
        of::<InterpretSchedule>,
        of::<AssessScope>,
        of::<TestsNeeded>,
    ];
    all.iter().find_map(|check| check(brain, purpose, input, answer))
}

fn of<D: Decision + DeserializeOwned>(
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
    let exchange = Exchange::new(D::PURPOSE, input.clone(), brain.request(&question));
    let answer = accept(&question, answer).map(|answer| D::summary(&answer));
    Some(Recheck { key: exchange.key(), answer })
}

/// The schema of an object with these fields, all of them required.
fn object(fields: &Value) -> Value {
    let required: Vec<&String> = fields.as_object().into_iter().flatten().map(|(k, _)| k).collect();
    let required = json!(required);
    json!({
        "type": "object", "properties": fields, "required": required,
        "additionalProperties": false,
    })
}

/// The schema of a text that is not empty.
fn text(about: &str, max: usize) -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": max, "description": about })
}

/// The schema of a list of texts.
fn texts(about: &str, max_items: usize) -> Value {
    json!({
        "type": "array", "maxItems": max_items, "description": about,
        "items": { "type": "string", "minLength": 1, "maxLength": 2000 },
    })
}

/// The schema of one of some words.
fn one_of(about: &str, words: &[&str]) -> Value {
    json!({ "enum": words, "description": about })
}

/// Whether a text has one of these words, as whole words, whatever their case.
fn mentions(text: &str, phrases: &[&str]) -> bool {
    let words: Vec<String> = text
        .split(|c: char| !(c.is_alphanumeric() || c == '\''))
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let padded = format!(" {} ", words.join(" "));
    phrases.iter().any(|phrase| padded.contains(&format!(" {phrase} ")))
}

#[cfg(test)]
mod tests;
