//! What a decision is: a typed question with a typed answer, rules on both sides of the model.

use cynode_wire::handoff::DecisionRecord;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A question with everything that its answer rests on.
///
/// Its own fields are its input: they are hashed for the record and kept in cassettes.
pub trait Decision: Serialize + Sync {
    /// What is decided.
    type Answer: DeserializeOwned + Serialize + Send + Sync;

    /// What it is called in records and budgets.
    const PURPOSE: &'static str;
    /// How strong a model it needs: `fast`, `balanced` or `strong`.
    const HINT: &'static str;

    /// The JSON Schema of the answer: an object that allows no further fields.
    fn schema(&self) -> Value;

    /// The question, for a model. Text of others is quoted in it.
    fn prompt(&self) -> String;

    /// The answer, where a rule decides and no model is to be asked.
    fn by_rule(&self) -> Option<Ruling<Self::Answer>> {
        None
    }

    /// The answer, where no model helps.
    fn fallback(&self) -> Ruling<Self::Answer>;

    /// What is wrong with an answer that has the right shape.
    fn objection(&self, _answer: &Self::Answer) -> Option<String> {
        None
    }

    /// An answer in a few words, for the record.
    fn summary(answer: &Self::Answer) -> String;
}

/// An answer of a rule, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ruling<A> {
    /// The answer.
    pub answer: A,
    /// Why, in words.
    pub reason: String,
}

impl<A> Ruling<A> {
    /// An answer and its reason.
    pub fn new(answer: A, reason: impl Into<String>) -> Self {
        Self { answer, reason: reason.into() }
    }
}

/// A decision that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided<A> {
    /// What was decided.
    pub answer: A,
    /// By what, and why.
    pub record: DecisionRecord,
}
