//! The conversation with the model, kept below the context limit.
//!
//! Turns are stored independent of the action format and rendered for the format in use. Compaction replaces the
//! oldest turns by one line each; it needs no model, and equal transcripts are compacted equally.
//!
//! Invariant: a request built from a compacted transcript is estimated below [`CONTEXT_TOKENS`]. The limits of the
//! prompt (at most 31,000 bytes), of the tools, of [`EARLIER_LINES`] lines and of [`LATEST_TURNS`] turns add up to less.

use std::collections::VecDeque;

use cynode_agent_job::bounded_text::{clip_middle, one_line};
use cynode_llm_wire::openai::{ChatMessage, ChatRequest, ToolCall};
use cynode_wire::agent_jobs::ActionFormat;
use serde_json::{Map, Value};

use crate::action_schema::{response_format, tool_definitions};
use crate::prompt::Prompt;

/// The limit of the context, in estimated tokens.
pub const CONTEXT_TOKENS: usize = 20_000;
/// Compaction begins above this estimate, and stops at the other.
const COMPACT_ABOVE_TOKENS: usize = 18_500;
const COMPACT_TO_TOKENS: usize = 12_000;
/// Turns that are never compacted.
const LATEST_TURNS: usize = 2;
/// Lines about compacted turns; older ones are counted only.
const EARLIER_LINES: usize = 50;
/// Bytes of one such line.
const EARLIER_LINE_BYTES: usize = 160;
/// Bytes of one such line about instructions.
const INSTRUCTION_LINE_BYTES: usize = 600;
/// Bytes of the arguments of one action that are kept.
const ARGUMENT_BYTES: usize = 6_000;
/// Bytes of one string in longer arguments.
const ARGUMENT_STRING_BYTES: usize = 1_000;
const BYTES_PER_TOKEN: usize = 4;
/// The most tokens of one answer.
const MAX_ANSWER_TOKENS: u64 = 4_096;

/// One exchange with the model.
#[derive(Debug, Clone, PartialEq)]
enum Turn {
    /// An action and its observation.
    Action {
        number: u32,
        name: String,
        arguments: Map<String, Value>,
        observation: String,
        summary: String,
    },
    /// Instructions of the project manager.
    Instructions { text: String },
    /// An answer without a valid action, and its fault.
    Rejected { answer: String, fault: String },
}

/// The conversation of a job.
#[derive(Debug)]
pub(crate) struct Transcript {
    prompt: Prompt,
    /// Lines about compacted turns, oldest first.
    earlier: VecDeque<String>,
    /// Compacted turns without a line.
    forgotten: usize,
    turns: VecDeque<Turn>,
    actions: u32,
}

impl Transcript {
    pub(crate) fn new(prompt: Prompt) -> Self {
        Self { prompt, earlier: [].into(), forgotten: 0, turns: [].into(), actions: 0 }
    }

    /// Adds an action. `summary` replaces the turn after compaction.
    pub(crate) fn push_action(
        &mut self,
        name: &str,
        arguments: &Map<String, Value>,
        observation: String,
        summary: &str,
    ) {
        self.actions += 1;
        let number = self.actions;
        self.turns.push_back(Turn::Action {
            number,
            name: name.to_owned(),
            arguments: shorten_arguments(arguments),
            observation,
            summary: one_line(&format!("{number}. {summary}"), EARLIER_LINE_BYTES),
        });
    }

    pub(crate) fn push_rejected(&mut self, answer: &str, fault: &str) {
        let answer = if answer.trim().is_empty() { "(no answer)" } else { answer };
        self.turns.push_back(Turn::Rejected { answer: answer.to_owned(), fault: fault.to_owned() });
    }

    pub(crate) fn push_instructions(&mut self, text: String) {
        self.turns.push_back(Turn::Instructions { text });
    }

    /// Builds the next request, below the context limit. Returns also the number of turns that were compacted for it.
    pub(crate) fn build_request(&mut self, format: ActionFormat) -> (ChatRequest, usize) {
        let mut request = self.render(format);
        let mut compacted = 0;
        if estimate_tokens(&request) <= COMPACT_ABOVE_TOKENS {
            return (request, compacted);
        }
        while self.turns.len() > LATEST_TURNS && estimate_tokens(&request) > COMPACT_TO_TOKENS {
            self.compact_oldest();
            compacted += 1;
            request = self.render(format);
        }
        (request, compacted)
    }

    fn compact_oldest(&mut self) {
        match self.turns.pop_front() {
            Some(Turn::Action { summary, .. }) => self.earlier.push_back(summary),
            Some(Turn::Instructions { text }) => {
                self.earlier.push_back(one_line(&text, INSTRUCTION_LINE_BYTES));
            }
            Some(Turn::Rejected { .. }) | None => {}
        }
        while self.earlier.len() > EARLIER_LINES {
            self.earlier.pop_front();
            self.forgotten += 1;
        }
    }

    fn render(&self, format: ActionFormat) -> ChatRequest {
        let mut messages = vec![
            ChatMessage::text("system", self.prompt.system(format)),
            ChatMessage::text("user", self.render_task()),
        ];
        for turn in &self.turns {
            messages.extend(render_turn(turn, format));
        }
        let mut request = ChatRequest {
            messages,
            max_tokens: Some(MAX_ANSWER_TOKENS),
            temperature: Some(0.0),
            ..ChatRequest::default()
        };
        match format {
            ActionFormat::NativeCalls => {
                request.tools = tool_definitions(self.prompt.grant());
                request.tool_choice = Some(Value::from("auto"));
            }
            ActionFormat::JsonSchema => {
                let constraint = response_format(self.prompt.grant());
                request.other.insert("response_format".to_owned(), constraint);
            }
            ActionFormat::FencedText => {}
        }
        request
    }

    fn render_task(&self) -> String {
        let task = self.prompt.task();
        if self.earlier.is_empty() {
            return task.to_owned();
        }
        let lines = Vec::from(self.earlier.clone()).join("\n");
        let forgotten = match self.forgotten {
            0 => String::new(),
            count => format!("({count} older actions are left out)\n"),
        };
        format!("{task}\n\n# Earlier actions, without their results\n{forgotten}{lines}")
    }
}

/// Estimates the tokens of a request from the bytes that the model reads.
pub fn estimate_tokens(request: &ChatRequest) -> usize {
    let message_bytes = |message: &ChatMessage| {
        let calls = message.tool_calls.iter().filter_map(|call| call.function.as_ref());
        let calls: usize = calls.map(|call| call.name.len() + call.arguments.len()).sum();
        message.role.len() + message.plain_text().len() + calls
    };
    let messages: usize = request.messages.iter().map(message_bytes).sum();
    let tools = if request.tools.is_empty() {
        0
    } else {
        serde_json::to_string(&request.tools).map_or(0, |tools| tools.len())
    };
    let constraint = request.other.get("response_format").map_or(0, |it| it.to_string().len());
    (messages + tools + constraint).div_ceil(BYTES_PER_TOKEN)
}

fn render_turn(turn: &Turn, format: ActionFormat) -> Vec<ChatMessage> {
    match (turn, format) {
        (Turn::Instructions { text }, _) => vec![ChatMessage::text("user", text.as_str())],
        (Turn::Rejected { answer, fault }, _) => vec![
            ChatMessage::text("assistant", answer.as_str()),
            ChatMessage::text("user", fault.as_str()),
        ],
        (Turn::Action { number, name, arguments, observation, .. }, ActionFormat::NativeCalls) => {
            let id = format!("call_{number}");
            let arguments = Value::Object(arguments.clone()).to_string();
            let call = ToolCall::function(&id, name, arguments);
            let assistant = ChatMessage {
                role: "assistant".to_owned(),
                tool_calls: vec![call],
                ..ChatMessage::default()
            };
            vec![assistant, ChatMessage::tool_result(&id, observation.as_str())]
        }
        (
            Turn::Action { name, arguments, observation, .. },
            ActionFormat::JsonSchema | ActionFormat::FencedText,
        ) => {
            let mut action = Map::from_iter([("action".to_owned(), Value::from(name.as_str()))]);
            action.extend(arguments.clone());
            let action = Value::Object(action).to_string();
            let text = match format {
                ActionFormat::FencedText => format!("```json\n{action}\n```"),
                ActionFormat::NativeCalls | ActionFormat::JsonSchema => action,
            };
            vec![
                ChatMessage::text("assistant", text),
                ChatMessage::text("user", observation.as_str()),
            ]
        }
    }
}

/// Shortens the strings of long arguments; drops arguments that are too long even then.
fn shorten_arguments(arguments: &Map<String, Value>) -> Map<String, Value> {
    let is_short = |arguments: &Map<String, Value>| {
        Value::Object(arguments.clone()).to_string().len() <= ARGUMENT_BYTES
    };
    if is_short(arguments) {
        return arguments.clone();
    }
    let mut shortened = Value::Object(arguments.clone());
    shorten_strings(&mut shortened);
    if let Value::Object(shortened) = shortened
        && is_short(&shortened)
    {
        return shortened;
    }
    Map::from_iter([("omitted".to_owned(), Value::from("too long to repeat"))])
}

fn shorten_strings(value: &mut Value) {
    match value {
        Value::String(text) => *text = clip_middle(text, ARGUMENT_STRING_BYTES),
        Value::Array(values) => values.iter_mut().for_each(shorten_strings),
        Value::Object(values) => values.values_mut().for_each(shorten_strings),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests;
