//! Makes decisions: by rule, else by a model, else by a fallback rule.
//!
//! Start at [`Brain::decide`] and [`BrainDecision`]; the decisions are in [`decisions`], one file each. Every model
//! request is a new exchange without history. The answer is the arguments of the one function that the model
//! must call, validated against the schema and the objections of the decision.
//!
//! Invariant: every decision is made, and its record names the decider and the reason. Only a replay without a
//! recording fails, so that a rule's answer is never mistaken for a recorded one.

mod answer;
mod consult;
mod decision;
pub mod decisions;
mod egress;
mod exchange;
mod model;
mod think_filter;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cynode_wire::handoff::{DecidedBy, DecisionRecord};
use serde_json::Value;
use tokio::time::Instant;
use tracing::{info, warn};

pub use decision::{BrainDecision, DecisionOutcome, RuleAnswer};
pub use egress::EgressModel;
pub use exchange::{ModelExchange, hash_parts};
pub use model::{ChatModel, ModelError, ModelStream};
pub use think_filter::{ThinkFilter, strip_think_blocks};

use crate::context::estimate_tokens;

/// Limits and parameters of model requests.
#[derive(Debug, Clone, PartialEq)]
pub struct BrainOptions {
    /// The longest silence of the orchestrator. It sends keep-alives while a provider works, and enforces the
    /// provider's timeouts itself.
    pub silence_timeout: Duration,
    /// The longest duration of one model request.
    pub max_request_duration: Duration,
    /// Retries of a request without an answer.
    pub max_retries: u32,
    /// From 0 to 2.
    pub temperature: f64,
    /// The most tokens of an answer.
    pub max_tokens: u64,
    /// The most commands in a plan of a model, and the most model requests in a chat turn; the last request offers no
    /// tools.
    pub max_steps: u32,
    pub cassette: CassetteMode,
}

impl Default for BrainOptions {
    fn default() -> Self {
        Self {
            silence_timeout: Duration::from_mins(1),
            max_request_duration: Duration::from_mins(30),
            max_retries: 1,
            temperature: 0.3,
            max_tokens: 4000,
            max_steps: 6,
            cassette: CassetteMode::Off,
        }
    }
}

/// Whether model exchanges are recorded or replayed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CassetteMode {
    #[default]
    Off,
    /// Writes every exchange to a file in this directory.
    Record(PathBuf),
    /// Answers from the files in this directory and sends no model request.
    Replay(PathBuf),
}

/// A replay found no recording of an exchange.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no record of {purpose} with key {key}: the prompt or the schema changed after the recording"
)]
pub struct MissingRecording {
    pub purpose: String,
    pub key: String,
}

/// Makes the decisions of one handoff.
#[derive(Clone)]
pub struct Brain {
    /// Decides where no rule does; `None` without a model.
    model: Option<Arc<dyn ChatModel>>,
    options: BrainOptions,
    /// The system message: the composed context of the handoff.
    system: String,
    /// The part of `system` that quotes the request, and its short form.
    task: Option<RequestPart>,
    /// The deadline of model requests.
    deadline: Option<Instant>,
}

/// Estimated prompt tokens of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestTokens {
    /// Tokens of the context.
    pub system: usize,
    /// Tokens of the question.
    pub question: usize,
    /// Tokens of the answer's schema.
    pub schema: usize,
}

/// The part of a context that quotes the request.
#[derive(Debug, Clone)]
pub(crate) struct RequestPart {
    pub(crate) request: String,
    /// The part with the request.
    pub(crate) whole: String,
    /// The part without the request.
    pub(crate) short: String,
}

impl Brain {
    /// Creates a brain that sends `system` with each question.
    pub fn new(model: Option<Arc<dyn ChatModel>>, options: BrainOptions, system: String) -> Self {
        Self { model, options, system, task: None, deadline: None }
    }

    /// Shortens this part of the context in questions that quote the request themselves.
    #[must_use]
    pub(crate) fn with_task_part(self, task: Option<RequestPart>) -> Self {
        Self { task, ..self }
    }

    /// Returns the system message of a question.
    fn system_message_for(&self, prompt: &str) -> String {
        match &self.task {
            Some(task) if !task.request.is_empty() && prompt.contains(&task.request) => {
                self.system.replacen(&task.whole, &task.short, 1)
            }
            Some(_) | None => self.system.clone(),
        }
    }

    /// Sets the deadline of model requests. A decision that is not made by then is made by rule.
    #[must_use]
    pub fn with_deadline(self, until: Instant) -> Self {
        Self { deadline: Some(until), ..self }
    }

    /// Reduces the remaining time to one `part`th.
    #[must_use]
    pub fn with_time_share(self, part: u32) -> Self {
        let now = Instant::now();
        let until =
            self.deadline.map(|until| now + until.saturating_duration_since(now) / part.max(1));
        Self { deadline: until, ..self }
    }

    /// Estimates the prompt tokens of a question.
    pub fn estimate_request_tokens<D: BrainDecision>(&self, question: &D) -> RequestTokens {
        let request = self.build_request(question);
        let said = |index: usize| {
            request.messages.get(index).map_or(0, |it| estimate_tokens(&it.plain_text()))
        };
        let schema = serde_json::to_string(&request.tools).unwrap_or_default();
        RequestTokens { system: said(0), question: said(1), schema: estimate_tokens(&schema) }
    }

    /// See [`BrainOptions::max_steps`].
    pub fn max_steps(&self) -> usize {
        usize::try_from(self.options.max_steps).unwrap_or(usize::MAX)
    }

    /// Makes a decision.
    pub async fn decide<D: BrainDecision>(
        &self,
        question: &D,
    ) -> Result<DecisionOutcome<D::Answer>, MissingRecording> {
        let input = serde_json::to_value(question).unwrap_or(Value::Null);
        let input_hash = hash_parts(&[D::PURPOSE, &input.to_string()]);
        let record = |by, reason: String, model| {
            let purpose = D::PURPOSE.to_owned();
            DecisionRecord { purpose, by, reason, input_hash, model }
        };
        let by_rule = question.decide_by_rule().filter(|_| !cynode_fault::fault!("PMO-01"));
        if let Some(RuleAnswer { answer, reason }) = by_rule {
            let record = record(DecidedBy::Rule, reason, None);
            return Ok(log_decision::<D>(answer, record));
        }
        let why = match &self.model {
            None => ModelError::NoModel.to_string(),
            Some(model) => match self.ask_model(model.as_ref(), question, input).await {
                Ok((answer, name)) => {
                    let reason = D::summarize(&answer);
                    return Ok(log_decision::<D>(answer, record(DecidedBy::Model, reason, name)));
                }
                Err(ModelError::MissingRecording(missing)) => return Err(missing),
                Err(why) => {
                    warn!(decision.purpose = D::PURPOSE, error = %why, "model failed, falling back");
                    why.to_string()
                }
            },
        };
        let RuleAnswer { answer, reason } = question.fallback();
        let record = record(DecidedBy::Fallback, format!("{reason} ({why})"), None);
        Ok(log_decision::<D>(answer, record))
    }
}

fn log_decision<D: BrainDecision>(
    answer: D::Answer,
    record: DecisionRecord,
) -> DecisionOutcome<D::Answer> {
    let (purpose, by, reason) = (D::PURPOSE, record.by.as_str(), &record.reason);
    info!(decision.purpose = purpose, decision.by = by, decision.reason = reason, "decision made");
    DecisionOutcome { answer, record }
}

#[cfg(test)]
mod tests;
