//! Requests that force one function, in the form that a model honours.
//!
//! Callers force a function, as OpenAI's API has it. Not every server honours that: llama.cpp ignores an
//! object as `tool_choice`, and Ollama knows none. [`adapt`] writes the request in the [`Structure`] that `probe`
//! found for the model, and [`restore`] and [`restored`] turn the answer back into a call of the function.

use cynode_llm::{ChunkStream, object_in};
use cynode_wire::openai::{
    ChatChunk, ChatCompletion, ChatMessage, ChatRequest, Content, Delta, FunctionDefinition,
    FunctionDelta, ToolCall, ToolCallDelta,
};
use futures_util::{StreamExt as _, stream};
use serde_json::{Map, Value, json};

/// The id of a call that a model wrote as text.
const CALL_ID: &str = "call_0";

/// How a model is made to answer with a value of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Structure {
    /// `tool_choice` names the function.
    ForcedTool,
    /// `tool_choice` is `"required"`, with the function as the only tool.
    RequiredTool,
    /// `response_format` holds the schema.
    JsonSchema,
    /// The prompt asks for a code block of JSON.
    FencedJson,
}

impl Structure {
    /// What it is called in logs.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::ForcedTool => "forced_tool",
            Self::RequiredTool => "required_tool",
            Self::JsonSchema => "json_schema",
            Self::FencedJson => "fenced_json",
        }
    }
}

/// The function that a request forces; none if the model is free to choose.
pub(super) fn forced(request: &ChatRequest) -> Option<FunctionDefinition> {
    let name = request.tool_choice.as_ref()?.get("function")?.get("name")?.as_str()?;
    let functions = request.tools.iter().filter_map(|tool| tool.function.as_ref());
    functions.into_iter().find(|function| function.name == name).cloned()
}

/// Writes a request that forces `function` in the form that the model honours.
pub(super) fn adapt(
    request: &mut ChatRequest,
    function: &FunctionDefinition,
    structure: Structure,
) {
    let is_it = |name: &str| name == function.name;
    match structure {
        Structure::ForcedTool => {}
        Structure::RequiredTool => {
            request.tools.retain(|tool| tool.function.as_ref().is_some_and(|f| is_it(&f.name)));
            request.tool_choice = Some(json!("required"));
        }
        Structure::JsonSchema => {
            bind_schema(request, function);
            in_words(request, function, "Answer with one JSON object and nothing else:");
        }
        Structure::FencedJson => {
            let plea = "Answer with one JSON object in a ```json code block and nothing else:";
            in_words(request, function, plea);
        }
    }
}

/// Takes the tools out of a request and binds its answer to the schema of the function.
pub(super) fn bind_schema(request: &mut ChatRequest, function: &FunctionDefinition) {
    request.tools.clear();
    request.tool_choice = None;
    let schema = function.parameters.clone().unwrap_or_else(|| json!({ "type": "object" }));
    let format = json!({ "name": function.name, "strict": true, "schema": schema });
    let format = json!({ "type": "json_schema", "json_schema": format });
    request.other.insert("response_format".to_owned(), format);
}

/// Takes the tools out of a request and describes the answer in its last message.
fn in_words(request: &mut ChatRequest, function: &FunctionDefinition, plea: &str) {
    request.tools.clear();
    request.tool_choice = None;
    request.other.remove("parallel_tool_calls");
    request.messages.iter_mut().for_each(without_calls);
    let shape = shape(function.parameters.as_ref().unwrap_or(&Value::Null), 0);
    let words = format!("\n\n{plea}\n{shape}");
    match request.messages.last_mut() {
        Some(ChatMessage { role, content: Some(Content::Text(text)), .. }) if role == "user" => {
            text.push_str(&words);
        }
        _ => request.messages.push(ChatMessage::text("user", words.trim_start())),
    }
}

/// A message that calls a tool, or answers such a call, in words.
fn without_calls(message: &mut ChatMessage) {
    let calls = std::mem::take(&mut message.tool_calls);
    if !calls.is_empty() {
        let written = calls.into_iter().filter_map(|call| Some(call.function?.arguments));
        let said = message.plain_text();
        let all: Vec<String> =
            Some(said).filter(|it| !it.is_empty()).into_iter().chain(written).collect();
        message.content = Some(Content::Text(all.join("\n")));
    }
    if message.role == "tool" {
        "user".clone_into(&mut message.role);
        message.tool_call_id = None;
    }
}

/// A schema in the notation of TypeScript, with what each field means: models read it well, and it is short.
fn shape(schema: &Value, depth: usize) -> String {
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    for (key, joint) in [("anyOf", " | "), ("oneOf", " | ")] {
        if let Some(choices) = schema[key].as_array() {
            return choices.iter().map(|it| shape(it, depth)).collect::<Vec<_>>().join(joint);
        }
    }
    match schema["type"].as_str() {
        Some("array") => format!("Array<{}>", shape(&schema["items"], depth)),
        Some("integer" | "number") => "number".to_owned(),
        Some(word @ ("string" | "boolean" | "null")) => word.to_owned(),
        _ => match schema["properties"].as_object() {
            Some(fields) => object_shape(fields, &schema["required"], depth),
            None => "any".to_owned(),
        },
    }
}

fn object_shape(fields: &Map<String, Value>, required: &Value, depth: usize) -> String {
    let is_required = |name: &String| {
        required.as_array().is_some_and(|names| names.iter().any(|it| it.as_str() == Some(name)))
    };
    let (inner, outer) = ("  ".repeat(depth + 1), "  ".repeat(depth));
    let line = |(name, field): (&String, &Value)| {
        let mark = if is_required(name) { "" } else { "?" };
        let about = field["description"].as_str().map(|it| format!(" // {it}")).unwrap_or_default();
        format!("{inner}{name}{mark}: {}{about}", shape(field, depth + 1))
    };
    format!("{{\n{}\n{outer}}}", fields.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// Turns an answer back into a call of `function`. Returns whether the model answered as it was made to.
pub(super) fn restore(answer: &mut ChatCompletion, function: &FunctionDefinition) -> bool {
    let mut has_call = false;
    for choice in &mut answer.choices {
        let message = &mut choice.message;
        if message.tool_calls.is_empty()
            && let Some(arguments) =
                message.content.as_deref().and_then(|it| arguments_in(it, function))
        {
            message.tool_calls = vec![ToolCall::function(CALL_ID, &function.name, arguments)];
            message.content = None;
            called(&mut choice.finish_reason);
        }
        has_call |= !message.tool_calls.is_empty();
    }
    has_call
}

/// The arguments in a text: an object of them, or a call that was written as text.
fn arguments_in(text: &str, function: &FunctionDefinition) -> Option<String> {
    // What a model thinks aloud is not its answer.
    let text = text.rsplit("</think>").next().unwrap_or(text);
    let is_it = |name: &str| name == function.name;
    if let Some(call) = cynode_llm::calls_in(text, is_it).into_iter().next() {
        return Some(call.arguments);
    }
    object_in(text).map(|object| object.to_string())
}

fn called(finish: &mut Option<String>) {
    if finish.as_deref() == Some("stop") {
        *finish = Some("tool_calls".to_owned());
    }
}

/// The pieces of an answer with its text turned back into a call of `function`, as one piece before the end.
/// `missed` is called if the whole answer held no call.
pub(super) fn restored(
    chunks: ChunkStream,
    function: FunctionDefinition,
    missed: impl FnOnce() + Send + 'static,
) -> ChunkStream {
    let state =
        Restoring { chunks, function, text: String::new(), has_call: false, missed: Some(missed) };
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

struct Restoring<M> {
    chunks: ChunkStream,
    function: FunctionDefinition,
    /// What the model has written instead of a call.
    text: String,
    has_call: bool,
    missed: Option<M>,
}

impl<M: FnOnce()> Restoring<M> {
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
            match arguments_in(&self.text, &self.function) {
                Some(arguments) => {
                    self.has_call = true;
                    choice.delta.tool_calls = vec![whole_call(&self.function.name, arguments)];
                    called(&mut choice.finish_reason);
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

fn whole_call(name: &str, arguments: String) -> ToolCallDelta {
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
