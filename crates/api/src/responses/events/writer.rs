//! Accumulates the answer and produces its events.

use std::collections::BTreeMap;

use cynode_domain::text::truncate_bytes;
use cynode_llm_wire::openai::responses::{
    ContentPosition, NumberedEvent, OutputItem, OutputPart, ResponseEvent, ResponseFault,
    ResponseStatus, ResponseView,
};
use cynode_llm_wire::openai::{ChatChunk, ErrorBody, ToolCallDelta};
use cynode_ops::chat::MAX_BUFFERED_BYTES;

use super::super::completion::{function_id, message_id, set_status};

/// Accounted size of an item or part, in addition to its text.
const ITEM_BYTES: usize = 128;

/// Accumulates the answer and numbers the events. Text beyond the size limit of a turn is neither
/// accumulated nor sent; the response is then incomplete.
pub(super) struct ResponseEventWriter {
    view: ResponseView,
    next_sequence: u64,
    /// Output index of the open message.
    message: Option<usize>,
    /// Output index of each tool call, by its index in the turn.
    calls: BTreeMap<u32, usize>,
    finish_reason: Option<String>,
    /// Bytes received, accumulated or not.
    received_bytes: usize,
    events: Vec<NumberedEvent>,
}

/// Kind of text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResponseTextKind {
    Output,
    Refusal,
}

impl ResponseEventWriter {
    pub(super) fn new(view: ResponseView) -> Self {
        let (message, calls) = (None, BTreeMap::new());
        Self {
            view,
            next_sequence: 0,
            message,
            calls,
            finish_reason: None,
            received_bytes: 0,
            events: Vec::new(),
        }
    }

    /// Events at the start of the response.
    pub(super) fn begin(&mut self) -> Vec<NumberedEvent> {
        let response = self.view.clone();
        self.emit(ResponseEvent::Created { response: response.clone() });
        self.emit(ResponseEvent::InProgress { response });
        std::mem::take(&mut self.events)
    }

    /// Processes a chunk.
    pub(super) fn push_chunk(&mut self, chunk: &ChatChunk) -> Vec<NumberedEvent> {
        for choice in chunk.choices.iter().filter(|choice| choice.index == 0) {
            self.push_text(
                ResponseTextKind::Output,
                choice.delta.content.as_deref().unwrap_or_default(),
            );
            self.push_text(
                ResponseTextKind::Refusal,
                choice.delta.refusal.as_deref().unwrap_or_default(),
            );
            for call in &choice.delta.tool_calls {
                self.push_tool_call(call);
            }
            if let Some(reason) = &choice.finish_reason {
                self.finish_reason = Some(reason.clone());
            }
        }
        if let Some(usage) = &chunk.usage {
            self.view.usage = Some(usage.into());
        }
        std::mem::take(&mut self.events)
    }

    /// Events at the end of the answer, complete or incomplete.
    pub(super) fn end(&mut self) -> Vec<NumberedEvent> {
        self.close_message();
        for index in std::mem::take(&mut self.calls).into_values() {
            self.close_call(index);
        }
        let cut = (self.received_bytes > MAX_BUFFERED_BYTES).then_some("length");
        set_status(&mut self.view, cut.or(self.finish_reason.as_deref()));
        let response = self.view.clone();
        self.emit(if response.status == ResponseStatus::Incomplete {
            ResponseEvent::Incomplete { response }
        } else {
            ResponseEvent::Completed { response }
        });
        std::mem::take(&mut self.events)
    }

    /// Events of a failed answer.
    pub(super) fn fail(&mut self, error: &ErrorBody) -> Vec<NumberedEvent> {
        let code = error.error.code.as_ref().and_then(|code| code.as_str()).unwrap_or_default();
        let message = error.error.message.clone();
        self.view.error = Some(ResponseFault { code: code.to_owned(), message });
        self.view.status = ResponseStatus::Failed;
        let response = self.view.clone();
        self.emit(ResponseEvent::Failed { response });
        std::mem::take(&mut self.events)
    }

    fn emit(&mut self, event: ResponseEvent) {
        self.events.push(NumberedEvent { event, sequence_number: self.next_sequence });
        self.next_sequence += 1;
    }

    /// Truncates text to the remaining size; once something was truncated, nothing fits any more.
    fn truncate_to_limit<'a>(&mut self, text: &'a str) -> &'a str {
        let left = MAX_BUFFERED_BYTES.saturating_sub(self.received_bytes);
        self.add_bytes(text.len());
        truncate_bytes(text, left)
    }

    fn add_bytes(&mut self, bytes: usize) {
        self.received_bytes = self.received_bytes.saturating_add(bytes);
    }

    fn push_text(&mut self, words: ResponseTextKind, delta: &str) {
        let delta = self.truncate_to_limit(delta);
        if delta.is_empty() {
            return;
        }
        let item = self.open_message();
        let part = self.open_part(item, words);
        let Some(OutputItem::Message { content, .. }) = self.view.output.get_mut(item) else {
            return;
        };
        match content.last_mut() {
            Some(OutputPart::OutputText { text, .. }) => text.push_str(delta),
            Some(OutputPart::Refusal { refusal }) => refusal.push_str(delta),
            None => {}
        }
        let (at, delta) = (self.part_location(item, part), delta.to_owned());
        self.emit(match words {
            ResponseTextKind::Output => ResponseEvent::TextDelta { at, delta, logprobs: vec![] },
            ResponseTextKind::Refusal => ResponseEvent::RefusalDelta { at, delta },
        });
    }

    /// Index of the open message; opens one if there is none.
    fn open_message(&mut self) -> usize {
        if let Some(item) = self.message {
            return item;
        }
        self.add_bytes(ITEM_BYTES);
        let index = self.view.output.len();
        let item = OutputItem::Message {
            id: message_id(&self.view.id),
            status: ResponseStatus::InProgress,
            role: "assistant".to_owned(),
            content: vec![],
        };
        self.add_item(item);
        self.message = Some(index);
        index
    }

    /// Index of the open part of the message; opens one if the last has another kind.
    fn open_part(&mut self, item: usize, words: ResponseTextKind) -> usize {
        let Some(OutputItem::Message { content, .. }) = self.view.output.get(item) else {
            return 0;
        };
        let (count, last) = (content.len(), content.last().map(text_kind));
        if last == Some(words) {
            return count - 1;
        }
        if last.is_some() {
            self.close_part(item);
        }
        self.add_bytes(ITEM_BYTES);
        let part = match words {
            ResponseTextKind::Output => OutputPart::text(""),
            ResponseTextKind::Refusal => OutputPart::Refusal { refusal: String::new() },
        };
        if let Some(OutputItem::Message { content, .. }) = self.view.output.get_mut(item) {
            content.push(part.clone());
        }
        let at = self.part_location(item, count);
        self.emit(ResponseEvent::PartAdded { at, part });
        count
    }

    fn close_part(&mut self, item: usize) {
        let Some(OutputItem::Message { content, .. }) = self.view.output.get(item) else { return };
        let Some(part) = content.last().cloned() else { return };
        let at = self.part_location(item, content.len() - 1);
        self.emit(match &part {
            OutputPart::OutputText { text, .. } => {
                ResponseEvent::TextDone { at: at.clone(), text: text.clone(), logprobs: vec![] }
            }
            OutputPart::Refusal { refusal } => {
                ResponseEvent::RefusalDone { at: at.clone(), refusal: refusal.clone() }
            }
        });
        self.emit(ResponseEvent::PartDone { at, part });
    }

    fn close_message(&mut self) {
        let Some(item) = self.message.take() else { return };
        self.close_part(item);
        self.finish_item(item);
    }

    fn push_tool_call(&mut self, delta: &ToolCallDelta) {
        if !self.calls.contains_key(&delta.index) {
            self.add_bytes(ITEM_BYTES);
        }
        if self.received_bytes > MAX_BUFFERED_BYTES {
            return;
        }
        // Text precedes tool calls in the output.
        self.close_message();
        let more = delta.function.as_ref().and_then(|function| function.arguments.as_deref());
        let index = match self.calls.get(&delta.index) {
            Some(index) => *index,
            None => self.open_call(delta),
        };
        let more = self.truncate_to_limit(more.unwrap_or_default());
        let Some(OutputItem::FunctionCall { id, arguments, .. }) = self.view.output.get_mut(index)
        else {
            return;
        };
        if more.is_empty() {
            return;
        }
        arguments.push_str(more);
        let (item_id, output_index) = (id.clone(), to_index(index));
        self.emit(ResponseEvent::ArgumentsDelta { output_index, item_id, delta: more.to_owned() });
    }

    fn open_call(&mut self, delta: &ToolCallDelta) -> usize {
        let index = self.view.output.len();
        let id = function_id(&self.view.id, index);
        let name = delta.function.as_ref().and_then(|function| function.name.as_deref());
        let item = OutputItem::FunctionCall {
            call_id: self.truncate_to_limit(delta.id.as_deref().unwrap_or(&id)).to_owned(),
            id,
            name: self.truncate_to_limit(name.unwrap_or_default()).to_owned(),
            arguments: String::new(),
            status: ResponseStatus::InProgress,
        };
        self.add_item(item);
        self.calls.insert(delta.index, index);
        index
    }

    fn close_call(&mut self, index: usize) {
        let Some(OutputItem::FunctionCall { id, name, arguments, .. }) =
            self.view.output.get(index)
        else {
            return;
        };
        let event = ResponseEvent::ArgumentsDone {
            output_index: to_index(index),
            item_id: id.clone(),
            name: name.clone(),
            arguments: arguments.clone(),
        };
        self.emit(event);
        self.finish_item(index);
    }

    fn add_item(&mut self, item: OutputItem) {
        let output_index = to_index(self.view.output.len());
        self.view.output.push(item.clone());
        self.emit(ResponseEvent::ItemAdded { output_index, item });
    }

    fn finish_item(&mut self, index: usize) {
        let Some(item) = self.view.output.get_mut(index) else { return };
        let (OutputItem::Message { status, .. } | OutputItem::FunctionCall { status, .. }) = item;
        *status = ResponseStatus::Completed;
        let (output_index, item) = (to_index(index), item.clone());
        self.emit(ResponseEvent::ItemDone { output_index, item });
    }

    fn part_location(&self, item: usize, part: usize) -> ContentPosition {
        let item_id = message_id(&self.view.id);
        ContentPosition { output_index: to_index(item), item_id, content_index: to_index(part) }
    }
}

const fn text_kind(part: &OutputPart) -> ResponseTextKind {
    match part {
        OutputPart::OutputText { .. } => ResponseTextKind::Output,
        OutputPart::Refusal { .. } => ResponseTextKind::Refusal,
    }
}

fn to_index(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use cynode_llm_wire::openai::responses::{ResponseRequest, ResponseSettings};
    use cynode_llm_wire::openai::{Delta, FunctionDelta, Usage};
    use serde_json::{Value, json};

    use super::*;

    fn writer() -> ResponseEventWriter {
        let settings = ResponseSettings::from(&ResponseRequest::default());
        ResponseEventWriter::new(ResponseView::begun("resp_1".into(), 7, "p/m".into(), settings))
    }

    fn events_of(chunks: &[ChatChunk]) -> Vec<Value> {
        let mut writer = writer();
        let mut events = writer.begin();
        events.extend(chunks.iter().flat_map(|chunk| writer.push_chunk(chunk)).collect::<Vec<_>>());
        events.extend(writer.end());
        events.iter().map(|event| serde_json::to_value(event).unwrap()).collect()
    }

    fn names(events: &[Value]) -> Vec<&str> {
        events.iter().filter_map(|event| event["type"].as_str()).collect()
    }

    fn arguments(name: Option<&str>, arguments: &str) -> ChatChunk {
        let function = FunctionDelta {
            name: name.map(ToOwned::to_owned),
            arguments: Some(arguments.to_owned()),
        };
        let delta = ToolCallDelta {
            id: name.map(|_| "call_1".to_owned()),
            function: Some(function),
            ..ToolCallDelta::default()
        };
        ChatChunk::new(Delta { tool_calls: vec![delta], ..Delta::default() }, None)
    }

    #[test]
    fn words_are_told_from_the_first_to_the_whole() {
        let cost = ChatChunk { usage: Some(Usage::new(3, 2)), ..ChatChunk::default() };
        let events = events_of(&[
            ChatChunk::new(Delta { role: Some("assistant".into()), ..Delta::text("") }, None),
            ChatChunk::new(Delta::text("Hello"), None),
            ChatChunk::new(Delta::text(" there."), None),
            ChatChunk::new(Delta::default(), Some("stop".into())),
            cost,
        ]);

        assert_eq!(
            names(&events),
            [
                "response.created",
                "response.in_progress",
                "response.output_item.added",
                "response.content_part.added",
                "response.output_text.delta",
                "response.output_text.delta",
                "response.output_text.done",
                "response.content_part.done",
                "response.output_item.done",
                "response.completed",
            ]
        );
        let numbers: Vec<u64> =
            events.iter().filter_map(|event| event["sequence_number"].as_u64()).collect();
        assert_eq!(numbers, (0..10).collect::<Vec<_>>());
        let response = &events[9]["response"];
        assert_eq!(response["output"][0]["content"][0]["text"], "Hello there.");
        assert_eq!(response["output"][0]["status"], "completed");
        assert_eq!(response["usage"]["total_tokens"], 5);
    }

    #[test]
    fn a_call_is_told_after_the_words_that_announce_it() {
        let events = events_of(&[
            ChatChunk::new(Delta::text("Let me look."), None),
            arguments(Some("look_up"), ""),
            arguments(None, "{\"city\":"),
            arguments(None, "\"Rome\"}"),
            ChatChunk::new(Delta::default(), Some("tool_calls".into())),
        ]);

        assert_eq!(
            names(&events)[6..],
            [
                "response.content_part.done",
                "response.output_item.done",
                "response.output_item.added",
                "response.function_call_arguments.delta",
                "response.function_call_arguments.delta",
                "response.function_call_arguments.done",
                "response.output_item.done",
                "response.completed",
            ]
        );
        let call = json!({"type": "function_call", "id": "fc_1_1", "call_id": "call_1",
                          "name": "look_up", "arguments": "{\"city\":\"Rome\"}",
                          "status": "completed"});
        assert_eq!(events[12]["item"], call);
        assert_eq!(events[13]["response"]["output"][1], call);
    }

    #[test]
    fn a_refusal_is_told_as_one() {
        let refusal = Delta { refusal: Some("I will not.".into()), ..Delta::default() };
        let events = events_of(&[ChatChunk::new(refusal, Some("stop".into()))]);

        assert!(names(&events).contains(&"response.refusal.done"));
        let last = events.last().unwrap();
        assert_eq!(last["response"]["output"][0]["content"][0]["refusal"], "I will not.");
    }

    #[test]
    fn an_answer_that_was_cut_off_or_failed_says_so_at_the_end() {
        let cut = events_of(&[ChatChunk::new(Delta::text("Once"), Some("length".into()))]);
        let mut writer = writer();
        writer.push_chunk(&ChatChunk::new(Delta::text("Once"), None));
        let failed = writer.fail(&ErrorBody::new("the provider failed", "x", "failed_so"));
        let failed = serde_json::to_value(&failed[0]).unwrap();

        assert_eq!(cut.last().unwrap()["type"], "response.incomplete");
        assert_eq!(failed["type"], "response.failed");
        assert_eq!(failed["response"]["status"], "failed");
        assert_eq!(
            failed["response"]["error"],
            json!({"code": "failed_so", "message": "the provider failed"})
        );
    }

    #[test]
    fn an_endless_answer_is_told_as_far_as_a_turn_remembers_it_and_is_incomplete() {
        let words = "ä".repeat(600_000);
        let events = events_of(&[
            ChatChunk::new(Delta::text(words.clone()), None),
            ChatChunk::new(Delta::text("b"), None),
            arguments(Some("look_up"), &words),
            ChatChunk::new(Delta::default(), Some("stop".into())),
        ]);

        let last = events.last().unwrap();
        assert_eq!(last["type"], "response.incomplete");
        assert_eq!(last["response"]["incomplete_details"]["reason"], "max_output_tokens");
        assert_eq!(last["response"]["output"].as_array().unwrap().len(), 1);
        let text = last["response"]["output"][0]["content"][0]["text"].as_str().unwrap();
        assert!(text.len() <= MAX_BUFFERED_BYTES, "{}", text.len());
        let is_delta = |event: &&Value| event["type"] == "response.output_text.delta";
        let deltas = events.iter().filter(is_delta).filter_map(|event| event["delta"].as_str());
        assert_eq!(deltas.collect::<String>(), text);
    }

    #[test]
    fn endless_calls_are_told_as_far_as_a_turn_remembers_them() {
        let words = "x".repeat(MAX_BUFFERED_BYTES / 2);
        let events = events_of(&[
            arguments(Some("look_up"), &words),
            arguments(None, &words),
            arguments(None, &words),
            ChatChunk::new(Delta::default(), Some("tool_calls".into())),
        ]);

        let last = events.last().unwrap();
        assert_eq!(last["type"], "response.incomplete");
        let said = last["response"]["output"][0]["arguments"].as_str().unwrap();
        assert!(said.len() <= MAX_BUFFERED_BYTES, "{}", said.len());
    }
}
