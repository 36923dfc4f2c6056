//! Assembles an answer from its chunks.

use std::collections::BTreeMap;

use cynode_domain::text::truncate_bytes;
use cynode_llm_wire::openai::{
    AssistantMessage, ChatChunk, ChatCompletion, Choice, FunctionCall, ToolCallDelta, Usage,
};
use serde_json::{Map, Value, json};

use super::turn::ChatTurn;
use cynode_resources::secrets::RedactSecrets as _;

/// Maximum persisted size of an answer.
const MAX_KEPT_BYTES: usize = 1024 * 1024;
/// Maximum buffered size of a streamed answer. Larger than what is persisted, so that a secret at
/// the cut is still recognised.
pub const MAX_BUFFERED_BYTES: usize = MAX_KEPT_BYTES + 64 * 1024;
/// Accounting overhead of one tool call, in bytes.
const CALL_BYTES: usize = 128;

/// A call of a client function.
#[derive(Debug, Default)]
struct BufferedToolCall {
    id: String,
    function: FunctionCall,
}

/// The answer so far.
#[derive(Debug, Default)]
pub(super) struct AnswerBuffer {
    text: String,
    calls: BTreeMap<u32, BufferedToolCall>,
    finish_reason: Option<String>,
    usage: Option<Usage>,
    /// Bytes received, buffered or not.
    received_bytes: usize,
}

impl AnswerBuffer {
    /// Appends a chunk.
    pub(super) fn push_chunk(&mut self, chunk: &ChatChunk) {
        append_bounded(&mut self.text, chunk.text(), &mut self.received_bytes);
        if let Some(reason) = chunk.finish_reason() {
            self.finish_reason = Some(reason.to_owned());
        }
        if let Some(usage) = &chunk.usage {
            self.usage = Some(usage.clone());
        }
        let first = chunk.choices.iter().filter(|choice| choice.index == 0);
        first
            .flat_map(|choice| &choice.delta.tool_calls)
            .for_each(|call| self.push_tool_call(call));
    }

    fn push_tool_call(&mut self, delta: &ToolCallDelta) {
        if !self.calls.contains_key(&delta.index) {
            self.received_bytes = self.received_bytes.saturating_add(CALL_BYTES);
        }
        if self.received_bytes > MAX_BUFFERED_BYTES {
            return;
        }
        let call = self.calls.entry(delta.index).or_default();
        if let Some(id) = &delta.id {
            call.id.clear();
            append_bounded(&mut call.id, id, &mut self.received_bytes);
        }
        if let Some(function) = &delta.function {
            let FunctionCall { name, arguments } = &mut call.function;
            append_bounded(
                name,
                function.name.as_deref().unwrap_or_default(),
                &mut self.received_bytes,
            );
            let more = function.arguments.as_deref().unwrap_or_default();
            append_bounded(arguments, more, &mut self.received_bytes);
        }
    }

    /// Stores a complete answer.
    pub(super) fn set_completion(&mut self, answer: &ChatCompletion) {
        answer.text().clone_into(&mut self.text);
        self.usage.clone_from(&answer.usage);
        let Some(choice) = answer.choices.first() else { return };
        self.finish_reason.clone_from(&choice.finish_reason);
        let calls = choice.message.tool_calls.iter().filter_map(|call| {
            Some(BufferedToolCall { id: call.id.clone(), function: call.function.clone()? })
        });
        self.calls = (0..).zip(calls).collect();
    }

    /// Returns whether there is nothing to persist.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }

    /// Returns the answer of the project manager as a response body.
    pub(super) fn to_completion(&self, turn: &ChatTurn) -> ChatCompletion {
        let message =
            AssistantMessage { content: Some(self.text.clone()), ..AssistantMessage::default() };
        let reason = if self.received_bytes > MAX_BUFFERED_BYTES { "length" } else { "stop" };
        let choice =
            Choice { message, finish_reason: Some(reason.to_owned()), ..Choice::default() };
        ChatCompletion {
            id: turn.completion_id(),
            object: "chat.completion".to_owned(),
            created: turn.began_at.timestamp(),
            model: turn.model.clone(),
            choices: vec![choice],
            usage: self.usage.clone(),
            ..ChatCompletion::default()
        }
    }

    /// Returns the text to persist: redacted and truncated.
    pub(super) fn stored_text(&self) -> String {
        clean_for_storage(&self.text)
    }

    /// Returns the metadata to persist.
    pub(super) fn stored_metadata(&self, turn: &ChatTurn) -> Value {
        let mut metadata = self.metadata_for_model(&turn.model);
        if let Some(link) = turn.call.link {
            link.store_in_metadata(turn.repeats, &mut metadata);
        }
        if let Some(fingerprint) = &turn.fingerprint {
            fingerprint.store_in_metadata(&mut metadata);
        }
        metadata
    }

    fn metadata_for_model(&self, model: &str) -> Value {
        let mut fields = Map::from_iter([("model_id".to_owned(), json!(model))]);
        let cut = (self.received_bytes > MAX_BUFFERED_BYTES).then_some("length");
        if let Some(reason) = cut.or(self.finish_reason.as_deref()) {
            fields.insert("finish_reason".to_owned(), json!(clean_for_storage(reason)));
        }
        if let Some(usage) = &self.usage {
            let tokens = json!({
                "prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens,
            });
            fields.insert("usage".to_owned(), tokens);
        }
        if !self.calls.is_empty() {
            let call = |call: &BufferedToolCall| {
                let FunctionCall { name, arguments } = &call.function;
                json!({ "id": clean_for_storage(&call.id), "name": clean_for_storage(name), "arguments": clean_for_storage(arguments) })
            };
            fields.insert("tool_calls".to_owned(), self.calls.values().map(call).collect());
        }
        Value::Object(fields)
    }
}

/// Appends as much as fits; nothing after the first truncation.
fn append_bounded(text: &mut String, more: &str, heard: &mut usize) {
    let left = MAX_BUFFERED_BYTES.saturating_sub(*heard);
    text.push_str(truncate_bytes(more, left));
    *heard = heard.saturating_add(more.len());
}

/// Prepares text for storage: redacted, without NUL characters, truncated.
pub(super) fn clean_for_storage(text: &str) -> String {
    let mut text = text.replace('\0', "").redact_secrets();
    if text.len() > MAX_KEPT_BYTES {
        text.truncate(text.floor_char_boundary(MAX_KEPT_BYTES));
    }
    text
}

#[cfg(test)]
mod tests {
    use cynode_llm_wire::openai::{Delta, FunctionDelta};

    use super::*;

    fn call(index: u32, name: Option<&str>, arguments: &str) -> ChatChunk {
        let function = FunctionDelta {
            name: name.map(ToOwned::to_owned),
            arguments: Some(arguments.to_owned()),
        };
        let id = name.map(|_| format!("call-{index}"));
        let delta =
            ToolCallDelta { index, id, function: Some(function), ..ToolCallDelta::default() };
        ChatChunk::new(Delta { tool_calls: vec![delta], ..Delta::default() }, None)
    }

    #[test]
    fn words_and_calls_are_put_together_from_their_pieces() {
        let mut answer = AnswerBuffer::default();
        for chunk in [
            ChatChunk::new(Delta::text("Let me "), None),
            ChatChunk::new(Delta::text("look."), None),
            call(0, Some("find"), "{\"q\":"),
            call(1, Some("count"), "{}"),
            call(0, None, "\"x\"}"),
            ChatChunk::new(Delta::default(), Some("tool_calls".to_owned())),
        ] {
            answer.push_chunk(&chunk);
        }

        assert_eq!(answer.stored_text(), "Let me look.");
        assert_eq!(
            answer.metadata_for_model("p/m"),
            json!({"model_id": "p/m", "finish_reason": "tool_calls", "tool_calls": [
                {"id": "call-0", "name": "find", "arguments": "{\"q\":\"x\"}"},
                {"id": "call-1", "name": "count", "arguments": "{}"},
            ]})
        );
    }

    #[test]
    fn an_endless_answer_is_not_remembered_to_its_end() {
        let mut answer = AnswerBuffer::default();
        let words = "ä".repeat(600_000);
        for index in 0..3 {
            answer.push_chunk(&ChatChunk::new(Delta::text(words.clone()), None));
            answer.push_chunk(&call(index, Some("f"), &words));
        }

        assert_eq!(answer.text.len(), MAX_BUFFERED_BYTES);
        assert_eq!(answer.stored_text().len(), MAX_KEPT_BYTES);
        assert_eq!(answer.metadata_for_model("p/m")["finish_reason"], "length");
        assert!(answer.calls.is_empty(), "{}", answer.calls.len());
    }

    #[test]
    fn what_is_kept_has_neither_secrets_nor_nul_characters() {
        let needle = "Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";
        let mut answer = AnswerBuffer::default();
        answer.push_chunk(&ChatChunk::new(Delta::text(format!("use ghp_{needle}\0")), None));

        assert_eq!(answer.stored_text(), "use ghp_SECRET_REDACTED");
    }
}
