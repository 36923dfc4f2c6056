//! Reading a model's answer to a decision: shape first, then sense.

use cynode_llm::{calls_in, object_in};
use cynode_wire::openai::{AssistantMessage, ChatCompletion};
use serde::Deserialize as _;
use serde_json::Value;

use super::Decision;
use super::consult::RESPOND;
use super::thoughts;

/// How many faults are named to the model.
const NAMED_FAULTS: usize = 5;
/// The longest wording of one fault.
const FAULT_CHARS: usize = 300;

/// Why an answer is not used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unfit {
    /// The model will not answer.
    Declined(String),
    /// It answered something else; in words that help it to do better.
    Faulty(String),
}

/// The answer in a completion, if it has the shape and sense that the question wants.
pub(super) fn read<D: Decision>(
    question: &D,
    completion: &ChatCompletion,
) -> Result<D::Answer, Unfit> {
    let choice = completion.choices.first().ok_or_else(|| faulty("there is no answer"))?;
    if let Some(words) = &choice.message.refusal {
        return Err(Unfit::Declined(short(words)));
    }
    if choice.finish_reason.as_deref() == Some("content_filter") {
        return Err(Unfit::Declined("its provider held the answer back".to_owned()));
    }
    let is_cut = choice.finish_reason.as_deref() == Some("length");
    let value = value_of(&choice.message).map_err(|fault| {
        let why = if is_cut { " (the answer was cut off: be shorter)" } else { "" };
        faulty(&format!("{fault}{why}"))
    })?;
    accept(question, &value).map_err(|fault| faulty(&fault))
}

/// The value as an answer to the question, or everything that is wrong with it.
pub(super) fn accept<D: Decision>(question: &D, value: &Value) -> Result<D::Answer, String> {
    let validator =
        jsonschema::validator_for(&question.schema()).map_err(|fault| fault.to_string())?;
    let faults: Vec<String> = validator
        .iter_errors(value)
        .take(NAMED_FAULTS)
        .map(|fault| {
            format!("{}: {}", place(&fault.instance_path().to_string()), short(&fault.to_string()))
        })
        .collect();
    if !faults.is_empty() {
        return Err(faults.join("; "));
    }
    let answer = D::Answer::deserialize(value).map_err(|fault| short(&fault.to_string()))?;
    match question.objection(&answer) {
        Some(objection) => Err(objection),
        None => Ok(answer),
    }
}

/// What the model wrote, as a value: the arguments of the one function, or an object in its words
/// where a small model does not know how to call functions.
fn value_of(message: &AssistantMessage) -> Result<Value, String> {
    if let Some(call) = message.tool_calls.iter().find_map(|call| call.function.as_ref()) {
        if call.name != RESPOND {
            return Err(format!("there is no function \"{}\"", short(&call.name)));
        }
        return serde_json::from_str(&call.arguments)
            .map_err(|fault| format!("the arguments are no JSON: {fault}"));
    }
    let words = thoughts::strip(message.content.as_deref().unwrap_or_default());
    if let Some(call) = calls_in(&words, |name| name == RESPOND).into_iter().next() {
        return serde_json::from_str(&call.arguments)
            .map_err(|fault| format!("the arguments are no JSON: {fault}"));
    }
    object_in(&words).ok_or_else(|| "it holds no JSON object".to_owned())
}

fn faulty(fault: &str) -> Unfit {
    Unfit::Faulty(short(fault))
}

fn place(path: &str) -> String {
    if path.is_empty() { "the answer".to_owned() } else { path.to_owned() }
}

fn short(text: &str) -> String {
    text.chars().take(FAULT_CHARS).collect()
}
