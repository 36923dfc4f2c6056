//! Translates the chunks of a streamed answer to the events of a message.
//!
//! Text is sent as it arrives. Calls of tools are collected and sent at the end, one block each in their order: providers
//! may interleave them, which blocks cannot, and clients parse incomplete arguments leniently, so only arguments that
//! are a JSON object are sent ([`parse_arguments`]).

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::time::Duration;

use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use cynode_llm_wire::anthropic::{MessageEnd, MessagesBlock, MessagesBlockDelta, MessagesEvent};
use cynode_llm_wire::openai::{ChatChunk, ToolCallDelta, Usage};
use futures_util::{Stream, StreamExt as _, stream};
use serde_json::json;

use super::response::{AnswerContext, parse_arguments, stop_reason, tool_use_id};
use crate::anthropic_error::AnthropicError;

/// Interval of `ping` events.
const PING_INTERVAL: Duration = Duration::from_secs(10);

/// The event stream. It ends with `message_stop`, or with `error` if the answer fails.
pub(super) fn event_stream<E: Into<AnthropicError>>(
    context: AnswerContext,
    chunks: impl Stream<Item = Result<ChatChunk, E>> + Send + 'static,
) -> Sse<impl Stream<Item = Result<Event, Infallible>> + Send> {
    let translator = Some((MessagesEventTranslator::new(context), Box::pin(chunks)));
    let events = stream::unfold(translator, |state| async move {
        let (mut translator, mut chunks) = state?;
        match chunks.next().await {
            Some(Ok(chunk)) => Some((translator.push_chunk(&chunk), Some((translator, chunks)))),
            Some(Err(error)) => {
                let error = error.into().into_body().error;
                Some((vec![MessagesEvent::Error { error }], None))
            }
            None => Some((translator.finish(), None)),
        }
    });
    let events = events.flat_map(stream::iter).map(|event| Ok(sse_event(&event)));
    let ping = sse_event(&MessagesEvent::Ping);
    Sse::new(events).keep_alive(KeepAlive::new().interval(PING_INTERVAL).event(ping))
}

fn sse_event(event: &MessagesEvent) -> Event {
    let data = serde_json::to_string(event).unwrap_or_default();
    Event::default().event(event.name()).data(data)
}

/// Translates the chunks of one answer to events.
pub(super) struct MessagesEventTranslator {
    context: AnswerContext,
    /// Empty before `message_start`.
    message_id: String,
    /// Whether the block with the text is open; its index is 0.
    has_text: bool,
    /// By their index in the chunks.
    calls: BTreeMap<u32, CollectedCall>,
    finish_reason: Option<String>,
    stop_sequence: Option<String>,
    usage: Option<Usage>,
    answer_bytes: usize,
    events: Vec<MessagesEvent>,
}

#[derive(Debug, Default)]
struct CollectedCall {
    id: String,
    name: String,
    arguments: String,
}

impl MessagesEventTranslator {
    pub(super) fn new(context: AnswerContext) -> Self {
        Self {
            context,
            message_id: String::new(),
            has_text: false,
            calls: BTreeMap::new(),
            finish_reason: None,
            stop_sequence: None,
            usage: None,
            answer_bytes: 0,
            events: Vec::new(),
        }
    }

    /// Events of a chunk.
    pub(super) fn push_chunk(&mut self, chunk: &ChatChunk) -> Vec<MessagesEvent> {
        self.start(&chunk.id, &chunk.model);
        for choice in chunk.choices.iter().filter(|choice| choice.index == 0) {
            let delta = &choice.delta;
            for text in [&delta.content, &delta.refusal].into_iter().flatten() {
                self.push_text(text);
            }
            for call in &delta.tool_calls {
                self.push_call(call);
            }
            if let Some(reason) = &choice.finish_reason {
                self.finish_reason = Some(reason.clone());
                self.stop_sequence = self.context.matched_stop(&choice.other);
            }
        }
        if let Some(usage) = &chunk.usage {
            self.usage = Some(usage.clone());
        }
        std::mem::take(&mut self.events)
    }

    /// Events at the end of the answer.
    pub(super) fn finish(&mut self) -> Vec<MessagesEvent> {
        self.start("", "");
        if self.has_text {
            self.events.push(MessagesEvent::ContentBlockStop { index: 0 });
        }
        let calls: Vec<CollectedCall> = std::mem::take(&mut self.calls).into_values().collect();
        for (at, call) in calls.iter().enumerate() {
            self.emit_call(at, call);
        }
        let stop_sequence = self.stop_sequence.take();
        let reason =
            stop_reason(self.finish_reason.as_deref(), !calls.is_empty(), stop_sequence.is_some());
        let delta = MessageEnd { stop_reason: Some(reason), stop_sequence };
        let usage = self.context.usage(self.usage.as_ref(), self.answer_bytes);
        self.events.push(MessagesEvent::MessageDelta { delta, usage });
        self.events.push(MessagesEvent::MessageStop);
        std::mem::take(&mut self.events)
    }

    fn start(&mut self, id: &str, model: &str) {
        if self.message_id.is_empty() {
            let message = self.context.empty_message(id, model);
            self.message_id.clone_from(&message.id);
            self.events.push(MessagesEvent::MessageStart { message });
        }
    }

    fn push_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.answer_bytes += text.len();
        if !self.has_text {
            self.has_text = true;
            let content_block = MessagesBlock::Text { text: String::new() };
            self.events.push(MessagesEvent::ContentBlockStart { index: 0, content_block });
        }
        let delta = MessagesBlockDelta::TextDelta { text: text.to_owned() };
        self.events.push(MessagesEvent::ContentBlockDelta { index: 0, delta });
    }

    fn push_call(&mut self, delta: &ToolCallDelta) {
        let call = self.calls.entry(delta.index).or_default();
        if let Some(id) = delta.id.as_ref().filter(|_| call.id.is_empty()) {
            call.id.clone_from(id);
        }
        let Some(function) = &delta.function else { return };
        let (name, arguments) = (function.name.as_deref(), function.arguments.as_deref());
        let (name, arguments) = (name.unwrap_or_default(), arguments.unwrap_or_default());
        self.answer_bytes += name.len() + arguments.len();
        call.name.push_str(name);
        call.arguments.push_str(arguments);
    }

    /// Emits the call at this position as one block.
    fn emit_call(&mut self, at: usize, call: &CollectedCall) {
        let position = u32::try_from(at).unwrap_or(u32::MAX);
        let index = position.saturating_add(u32::from(self.has_text));
        let id = tool_use_id(&call.id, &self.message_id, at);
        let content_block =
            MessagesBlock::ToolUse { id, name: call.name.clone(), input: json!({}) };
        let partial_json = parse_arguments(&call.arguments).to_string();
        let delta = MessagesBlockDelta::InputJsonDelta { partial_json };
        self.events.extend([
            MessagesEvent::ContentBlockStart { index, content_block },
            MessagesEvent::ContentBlockDelta { index, delta },
            MessagesEvent::ContentBlockStop { index },
        ]);
    }
}

#[cfg(test)]
mod tests;
