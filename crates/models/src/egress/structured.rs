//! Translates requests that force one function into the form that a model honours.
//!
//! Callers force a function as in the OpenAI API. Not every server honours that: llama.cpp ignores
//! an object as `tool_choice`, and Ollama does not support it. [`adapt_request`] rewrites the request for
//! the [`AnswerStructure`] that `probe` found for the model; [`restore_call`] and [`restore_call_stream`] turn the answer
//! back into a call of the function.

use cynode_llm::{ChunkStream, first_json_object};
use cynode_llm_wire::openai::{
    ChatChunk, ChatCompletion, ChatMessage, ChatRequest, Content, Delta, FunctionDefinition,
    FunctionDelta, ToolCall, ToolCallDelta,
};
use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value, json};

/// Id of a tool call that a model wrote as text.
const CALL_ID: &str = "call_0";

/// How a model is made to return a value of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerStructure {
    /// `tool_choice` names the function.
    ForcedTool,
    /// `tool_choice` is `"required"`, with the function as the only tool.
    RequiredTool,
    /// `response_format` holds the schema.
    JsonSchema,
    /// The prompt requests a code block of JSON.
    FencedJson,
}

impl AnswerStructure {
    /// Returns the name used in logs.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::ForcedTool => "forced_tool",
            Self::RequiredTool => "required_tool",
            Self::JsonSchema => "json_schema",
            Self::FencedJson => "fenced_json",
        }
    }
}

/// Returns the function that a request forces; `None` if the model may choose.
pub(super) fn forced_function(request: &ChatRequest) -> Option<FunctionDefinition> {
    let name = request.tool_choice.as_ref()?.get("function")?.get("name")?.as_str()?;
    let functions = request.tools.iter().filter_map(|tool| tool.function.as_ref());
    functions.into_iter().find(|function| function.name == name).cloned()
}

/// Rewrites a request that forces `function` into the form that the model honours.
pub(super) fn adapt_request(
    request: &mut ChatRequest,
    function: &FunctionDefinition,
    structure: AnswerStructure,
) {
    let is_it = |name: &str| name == function.name;
    match structure {
        AnswerStructure::ForcedTool => {}
        AnswerStructure::RequiredTool => {
            request.tools.retain(|tool| tool.function.as_ref().is_some_and(|f| is_it(&f.name)));
            request.tool_choice = Some(json!("required"));
        }
        AnswerStructure::JsonSchema => {
            bind_schema(request, function);
            describe_in_prompt(request, function, "Answer with one JSON object and nothing else:");
        }
        AnswerStructure::FencedJson => {
            let plea = "Answer with one JSON object in a ```json code block and nothing else:";
            describe_in_prompt(request, function, plea);
        }
    }
}

/// Removes the tools and constrains the answer to the function's schema.
pub(super) fn bind_schema(request: &mut ChatRequest, function: &FunctionDefinition) {
    request.tools.clear();
    request.tool_choice = None;
    let schema = function.parameters.clone().unwrap_or_else(|| json!({ "type": "object" }));
    let format = json!({ "name": function.name, "strict": true, "schema": schema });
    let format = json!({ "type": "json_schema", "json_schema": format });
    request.other.insert("response_format".to_owned(), format);
}

/// Removes the tools and describes the answer in the last message.
fn describe_in_prompt(request: &mut ChatRequest, function: &FunctionDefinition, plea: &str) {
    request.tools.clear();
    request.tool_choice = None;
    request.other.remove("parallel_tool_calls");
    request.messages.iter_mut().for_each(flatten_tool_calls);
    let shape = render_schema(function.parameters.as_ref().unwrap_or(&Value::Null), 0);
    let words = format!("\n\n{plea}\n{shape}");
    match request.messages.last_mut() {
        Some(ChatMessage { role, content: Some(Content::Text(text)), .. }) if role == "user" => {
            text.push_str(&words);
        }
        _ => request.messages.push(ChatMessage::text("user", words.trim_start())),
    }
}

/// Rewrites a tool call, or a tool result, as plain text.
fn flatten_tool_calls(message: &mut ChatMessage) {
    let calls = std::mem::take(&mut message.tool_calls);
    if !calls.is_empty() {
        let written = calls.into_iter().filter_map(|call| Some(call.function?.arguments));
        let text = message.plain_text();
        let all: Vec<String> =
            Some(text).filter(|it| !it.is_empty()).into_iter().chain(written).collect();
        message.content = Some(Content::Text(all.join("\n")));
    }
    if message.role == "tool" {
        "user".clone_into(&mut message.role);
        message.tool_call_id = None;
    }
}

/// Renders a schema in TypeScript notation with field descriptions: short, and models read it well.
fn render_schema(schema: &Value, depth: usize) -> String {
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    for (key, joint) in [("anyOf", " | "), ("oneOf", " | ")] {
        if let Some(choices) = schema[key].as_array() {
            return choices
                .iter()
                .map(|it| render_schema(it, depth))
                .collect::<Vec<_>>()
                .join(joint);
        }
    }
    match schema["type"].as_str() {
        Some("array") => format!("Array<{}>", render_schema(&schema["items"], depth)),
        Some("integer" | "number") => "number".to_owned(),
        Some(word @ ("string" | "boolean" | "null")) => word.to_owned(),
        _ => match schema["properties"].as_object() {
            Some(fields) => render_object_schema(fields, &schema["required"], depth),
            None => "any".to_owned(),
        },
    }
}

fn render_object_schema(fields: &Map<String, Value>, required: &Value, depth: usize) -> String {
    let is_required = |name: &String| {
        required.as_array().is_some_and(|names| names.iter().any(|it| it.as_str() == Some(name)))
    };
    let (inner, outer) = ("  ".repeat(depth + 1), "  ".repeat(depth));
    let line = |(name, field): (&String, &Value)| {
        let mark = if is_required(name) { "" } else { "?" };
        let about = field["description"].as_str().map(|it| format!(" // {it}")).unwrap_or_default();
        format!("{inner}{name}{mark}: {}{about}", render_schema(field, depth + 1))
    };
    format!("{{\n{}\n{outer}}}", fields.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// Turns an answer back into a call of `function`. Returns whether the model answered in the
/// requested form.
pub(super) fn restore_call(answer: &mut ChatCompletion, function: &FunctionDefinition) -> bool {
    let mut has_call = false;
    for choice in &mut answer.choices {
        let message = &mut choice.message;
        if message.tool_calls.is_empty()
            && let Some(arguments) =
                message.content.as_deref().and_then(|it| parse_arguments(it, function))
        {
            message.tool_calls = vec![ToolCall::function(CALL_ID, &function.name, arguments)];
            message.content = None;
            mark_tool_call_finish(&mut choice.finish_reason);
        }
        has_call |= !message.tool_calls.is_empty();
    }
    has_call
}

/// Parses the arguments in a text: a JSON object, or a tool call written as text.
fn parse_arguments(text: &str, function: &FunctionDefinition) -> Option<String> {
    // Reasoning output is not the answer.
    let text = text.rsplit("</think>").next().unwrap_or(text);
    let is_it = |name: &str| name == function.name;
    if let Some(call) = cynode_llm::parse_tool_calls(text, is_it).into_iter().next() {
        return Some(call.arguments);
    }
    first_json_object(text).map(|object| object.to_string())
}

fn mark_tool_call_finish(finish: &mut Option<String>) {
    if finish.as_deref() == Some("stop") {
        *finish = Some("tool_calls".to_owned());
    }
}

/// Turns the streamed text back into a call of `function`, as one chunk before the end. Calls
/// `missed` if the whole answer held no call.
pub(super) fn restore_call_stream(
    chunks: ChunkStream,
    function: FunctionDefinition,
    missed: impl FnOnce() + Send + 'static,
) -> ChunkStream {
    let state = StructuredAnswerStream {
        chunks,
        function,
        text: String::new(),
        has_call: false,
        missed: Some(missed),
    };
    stream::unfold(state, |mut state| async move {
        let chunk = state.chunks.next().await;
        let Some(chunk) = chunk else {
            state.end();
            return None;
        };
        Some((chunk.map(|chunk| state.pass(chunk)), state))
    })
    .boxed()
}

struct StructuredAnswerStream<M> {
    chunks: ChunkStream,
    function: FunctionDefinition,
    /// Text that the model wrote instead of a call.
    text: String,
    has_call: bool,
    missed: Option<M>,
}

impl<M: FnOnce()> StructuredAnswerStream<M> {
    fn pass(&mut self, mut chunk: ChatChunk) -> ChatChunk {
        for choice in chunk.choices.iter_mut().filter(|choice| choice.index == 0) {
            self.has_call |= !choice.delta.tool_calls.is_empty();
            if self.has_call {
                continue;
            }
            self.text.push_str(&choice.delta.content.take().unwrap_or_default());
            if choice.finish_reason.is_none() {
                continue;
            }
            match parse_arguments(&self.text, &self.function) {
                Some(arguments) => {
                    self.has_call = true;
                    choice.delta.tool_calls =
                        vec![complete_tool_call(&self.function.name, arguments)];
                    mark_tool_call_finish(&mut choice.finish_reason);
                }
                None => {
                    choice.delta =
                        Delta { content: Some(std::mem::take(&mut self.text)), ..Delta::default() }
                }
            }
        }
        chunk
    }

    fn end(&mut self) {
        if let Some(missed) = self.missed.take().filter(|_| !self.has_call) {
            missed();
        }
    }
}

fn complete_tool_call(name: &str, arguments: String) -> ToolCallDelta {
    let function = FunctionDelta { name: Some(name.to_owned()), arguments: Some(arguments) };
    ToolCallDelta {
        id: Some(CALL_ID.to_owned()),
        kind: Some("function".to_owned()),
        function: Some(function),
        ..ToolCallDelta::default()
    }
}

#[cfg(test)]
mod tests;
