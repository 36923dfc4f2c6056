//! Parses and validates a model's answer to a decision.

use cynode_domain::text::truncate_chars;
use cynode_llm::{first_json_object, parse_tool_calls};
use cynode_llm_wire::openai::{AssistantMessage, ChatCompletion};
use cynode_schema::{CompiledSchema, ValueQuoting};
use serde::Deserialize as _;
use serde_json::Value;

use super::BrainDecision;
use super::consult::RESPOND;
use super::think_filter;

/// The most faults that are reported to the model.
const NAMED_FAULTS: usize = 5;
/// The most characters of one fault.
const FAULT_CHARS: usize = 300;

/// Why an answer is not accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum AnswerFault {
    /// The model refused to answer.
    Declined(String),
    /// The answer is invalid; the text explains the fault to the model.
    Invalid(String),
}

/// Parses the answer in a completion and validates it.
pub(super) fn parse_answer<D: BrainDecision>(
    question: &D,
    completion: &ChatCompletion,
) -> Result<D::Answer, AnswerFault> {
    let choice = completion.choices.first().ok_or_else(|| invalid_answer("there is no answer"))?;
    if let Some(words) = &choice.message.refusal {
        return Err(AnswerFault::Declined(truncate_fault(words)));
    }
    if choice.finish_reason.as_deref() == Some("content_filter") {
        return Err(AnswerFault::Declined("its provider filtered the answer".to_owned()));
    }
    let is_cut = choice.finish_reason.as_deref() == Some("length");
    let value = extract_value(&choice.message).map_err(|fault| {
        let why = if is_cut { " (the answer was cut off: be shorter)" } else { "" };
        invalid_answer(&format!("{fault}{why}"))
    })?;
    validate_answer(question, &value).map_err(|fault| invalid_answer(&fault))
}

/// Validates a value against the schema and the objections of the question; returns the faults.
pub(super) fn validate_answer<D: BrainDecision>(
    question: &D,
    value: &Value,
) -> Result<D::Answer, String> {
    let schema = CompiledSchema::compile(&question.schema()).map_err(|fault| fault.to_string())?;
    let violations = schema.violations(value, ValueQuoting::Quoted, NAMED_FAULTS);
    let faults: Vec<String> = violations
        .iter()
        .map(|fault| format!("{}: {}", fault_path(&fault.path), truncate_fault(&fault.reason)))
        .collect();
    if !faults.is_empty() {
        return Err(faults.join("; "));
    }
    let answer =
        D::Answer::deserialize(value).map_err(|fault| truncate_fault(&fault.to_string()))?;
    match question.find_objection(&answer) {
        Some(objection) => Err(objection),
        None => Ok(answer),
    }
}

/// Returns the arguments of the function call, or the JSON object in the text of a model that does not call
/// functions.
fn extract_value(message: &AssistantMessage) -> Result<Value, String> {
    if let Some(call) = message.tool_calls.iter().find_map(|call| call.function.as_ref()) {
        if call.name != RESPOND {
            return Err(format!("there is no function \"{}\"", truncate_fault(&call.name)));
        }
        return serde_json::from_str(&call.arguments)
            .map_err(|fault| format!("the arguments are not valid JSON: {fault}"));
    }
    let words = think_filter::strip_think_blocks(message.content.as_deref().unwrap_or_default());
    if let Some(call) = parse_tool_calls(&words, |name| name == RESPOND).into_iter().next() {
        return serde_json::from_str(&call.arguments)
            .map_err(|fault| format!("the arguments are not valid JSON: {fault}"));
    }
    first_json_object(&words).ok_or_else(|| "it contains no JSON object".to_owned())
}

fn invalid_answer(fault: &str) -> AnswerFault {
    AnswerFault::Invalid(truncate_fault(fault))
}

fn fault_path(path: &str) -> &str {
    if path.is_empty() { "the answer" } else { path }
}

fn truncate_fault(text: &str) -> String {
    truncate_chars(text, FAULT_CHARS).to_owned()
}
