//! The trait of decisions: a typed question with a typed answer, a rule before and a fallback after the model.

use cynode_wire::handoff::DecisionRecord;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A question with all inputs of its answer.
///
/// Its fields are the input: they are hashed for the record and saved in cassettes.
pub trait BrainDecision: Serialize + Sync {
    type Answer: DeserializeOwned + Serialize + Send + Sync;

    /// The name in records and budgets.
    const PURPOSE: &'static str;
    /// The class of model: `fast`, `balanced` or `strong`.
    const HINT: &'static str;

    /// The JSON Schema of the answer: an object without additional properties.
    fn schema(&self) -> Value;

    /// The prompt of the model. Untrusted text in it is quoted.
    fn prompt(&self) -> String;

    /// Decides by rule; `None` if a model must decide.
    fn decide_by_rule(&self) -> Option<RuleAnswer<Self::Answer>> {
        None
    }

    /// Decides if no model gave a usable answer.
    fn fallback(&self) -> RuleAnswer<Self::Answer>;

    /// Validates an answer that matches the schema; returns the fault.
    fn find_objection(&self, _answer: &Self::Answer) -> Option<String> {
        None
    }

    /// Summarises an answer for the record.
    fn summarize(answer: &Self::Answer) -> String;
}

/// An answer of a rule and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleAnswer<A> {
    pub answer: A,
    pub reason: String,
}

impl<A> RuleAnswer<A> {
    pub fn new(answer: A, reason: impl Into<String>) -> Self {
        Self { answer, reason: reason.into() }
    }
}

/// A decision with its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionOutcome<A> {
    pub answer: A,
    /// Who decided, and why.
    pub record: DecisionRecord,
}
