//! Decisions: by rule where a rule decides, by a model where one must, and by a rule again where
//! the model does not help.
//!
//! Start at [`Brain::think`] and [`Decision`]; the decisions themselves are in [`decisions`], a file
//! each. A question to a model is a fresh exchange: nothing is carried from one to the next. The
//! answer is the arguments of the one function that the model must call, held against the schema
//! of the decision and against what the decision itself objects to.
//!
//! Invariant: a decision is always made, and its record says by what and why. Only a replay without
//! a record fails, so that nobody takes a rule's answer for a recorded one.

mod answer;
mod consult;
mod decision;
pub mod decisions;
mod egress;
mod exchange;
mod model;
mod thoughts;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cynode_wire::handoff::{DecidedBy, DecisionRecord};
use serde_json::Value;
use tokio::time::Instant;
use tracing::{info, warn};

pub use decision::{Decided, Decision, Ruling};
pub use egress::EgressModel;
pub use exchange::{Exchange, hash};
pub use model::{Model, ModelError, ModelStream};
pub use thoughts::{Filter, strip};

use crate::context::tokens;

/// How the agent thinks.
#[derive(Debug, Clone, PartialEq)]
pub struct BrainOptions {
    /// How long a model may be silent. While the provider reads the prompt or writes, the orchestrator shows that
    /// it lives; how long that may take is decided there, by provider.
    pub silence: Duration,
    /// How long one question to a model may take in all, however steadily it writes.
    pub longest: Duration,
    /// How often a question is asked again that got no answer.
    pub max_retries: u32,
    /// How freely the model chooses, 0 to 2.
    pub temperature: f64,
    /// The most tokens of an answer.
    pub max_tokens: u64,
    /// How many steps it may take: commands of a plan that a model makes, and rounds of asking a model in a
    /// conversation, in the last of which it must answer.
    pub max_steps: u32,
    /// Whether exchanges with models are recorded, or answered from records.
    pub cassette: CassetteMode,
}

impl Default for BrainOptions {
    fn default() -> Self {
        Self {
            silence: Duration::from_mins(1),
            longest: Duration::from_mins(30),
            max_retries: 1,
            temperature: 0.3,
            max_tokens: 4000,
            max_steps: 6,
            cassette: CassetteMode::Off,
        }
    }
}

/// Whether exchanges with models are recorded, or answered from records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CassetteMode {
    /// Neither.
    #[default]
    Off,
    /// Every exchange is written to this directory, one file each.
    Record(PathBuf),
    /// No model is asked: answers come from the files in this directory, or not at all.
    Replay(PathBuf),
}

/// A replay has no record of an exchange.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no record of {purpose} with key {key}: the prompt or the schema has changed since"
)]
pub struct NoRecord {
    /// What was to be decided.
    pub purpose: String,
    /// The key that no record has.
    pub key: String,
}

/// What decides, for one piece of work.
#[derive(Clone)]
pub struct Brain {
    /// Whom to ask where rules do not decide; nobody where there is no model.
    model: Option<Arc<dyn Model>>,
    options: BrainOptions,
    /// What every question begins with: the composed context of the work.
    system: String,
    /// The part of `system` that holds the request, and its short form.
    task: Option<RequestPart>,
    /// When whoever waits for the decision goes on without it, if that is known.
    until: Option<Instant>,
}

/// About how many tokens a model reads for a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestTokens {
    /// Of the context.
    pub system: usize,
    /// Of the question itself.
    pub question: usize,
    /// Of what the answer must look like.
    pub schema: usize,
}

/// The part of a context that holds the request.
#[derive(Debug, Clone)]
pub(crate) struct RequestPart {
    /// The request.
    pub(crate) request: String,
    /// The part with it.
    pub(crate) whole: String,
    /// The part without it.
    pub(crate) short: String,
}

impl Brain {
    /// A brain that tells a model `system` before each question.
    pub fn new(model: Option<Arc<dyn Model>>, options: BrainOptions, system: String) -> Self {
        Self { model, options, system, task: None, until: None }
    }

    /// The same, but a question that quotes the request is asked without this part of the context.
    #[must_use]
    pub(crate) fn about(self, task: Option<RequestPart>) -> Self {
        Self { task, ..self }
    }

    /// The system message of a question.
    fn system_for(&self, prompt: &str) -> String {
        match &self.task {
            Some(task) if !task.request.is_empty() && prompt.contains(&task.request) => {
                self.system.replacen(&task.whole, &task.short, 1)
            }
            Some(_) | None => self.system.clone(),
        }
    }

    /// The same, but a model is asked until then at the latest: what it has not decided is decided by
    /// rule, while somebody still waits for it.
    #[must_use]
    pub fn until(self, until: Instant) -> Self {
        Self { until: Some(until), ..self }
    }

    /// The same, with one `part`th of the time that is left.
    #[must_use]
    pub fn share_of_time(self, part: u32) -> Self {
        let now = Instant::now();
        let until =
            self.until.map(|until| now + until.saturating_duration_since(now) / part.max(1));
        Self { until, ..self }
    }

    /// About how many tokens a model reads for a question.
    pub fn tokens_of<D: Decision>(&self, question: &D) -> RequestTokens {
        let request = self.request(question);
        let said =
            |place: usize| request.messages.get(place).map_or(0, |it| tokens(&it.plain_text()));
        let schema = serde_json::to_string(&request.tools).unwrap_or_default();
        RequestTokens { system: said(0), question: said(1), schema: tokens(&schema) }
    }

    /// How many steps it may take.
    pub fn max_steps(&self) -> usize {
        usize::try_from(self.options.max_steps).unwrap_or(usize::MAX)
    }

    /// Makes a decision.
    pub async fn think<D: Decision>(&self, question: &D) -> Result<Decided<D::Answer>, NoRecord> {
        let input = serde_json::to_value(question).unwrap_or(Value::Null);
        let input_hash = hash(&[D::PURPOSE, &input.to_string()]);
        let record = |by, reason: String, model| {
            let purpose = D::PURPOSE.to_owned();
            DecisionRecord { purpose, by, reason, input_hash, model }
        };
        if let Some(Ruling { answer, reason }) = question.by_rule() {
            let record = record(DecidedBy::Rule, reason, None);
            return Ok(settled::<D>(answer, record));
        }
        let why = match &self.model {
            None => ModelError::NoModel.to_string(),
            Some(model) => match self.consult(model.as_ref(), question, input).await {
                Ok((answer, name)) => {
                    let reason = D::summary(&answer);
                    return Ok(settled::<D>(answer, record(DecidedBy::Model, reason, name)));
                }
                Err(ModelError::NoRecord(missing)) => return Err(missing),
                Err(why) => {
                    warn!(
                        decision.purpose = D::PURPOSE,
                        "{} is decided by rule: {why}",
                        D::PURPOSE
                    );
                    why.to_string()
                }
            },
        };
        let Ruling { answer, reason } = question.fallback();
        let record = record(DecidedBy::Fallback, format!("{reason} ({why})"), None);
        Ok(settled::<D>(answer, record))
    }
}

fn settled<D: Decision>(answer: D::Answer, record: DecisionRecord) -> Decided<D::Answer> {
    let (purpose, by, reason) = (D::PURPOSE, record.by.as_str(), &record.reason);
    info!(decision.purpose = purpose, decision.by = by, "{purpose} decided by {by}: {reason}");
    Decided { answer, record }
}

#[cfg(test)]
mod tests;
