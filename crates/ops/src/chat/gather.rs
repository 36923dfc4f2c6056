//! What was said in an answer, put together from its pieces.

use std::collections::BTreeMap;

use cynode_wire::openai::{
    AssistantMessage, ChatChunk, ChatCompletion, Choice, FunctionCall, ToolCallDelta, Usage,
};
use serde_json::{Map, Value, json};

use super::turn::Turn;
use crate::secrets::WithoutSecrets as _;

/// The most of an answer that is kept.
const MAX_KEPT_BYTES: usize = 1024 * 1024;
/// The most of an answer in pieces that is remembered, so that no stream grows without end: more
/// than is kept, as a secret at the end of that could not be told from other text if it were cut.
pub const MAX_HEARD_BYTES: usize = MAX_KEPT_BYTES + 64 * 1024;
/// What a call costs beside its texts.
const CALL_BYTES: usize = 128;

/// A call of one of the client's functions.
#[derive(Debug, Default)]
struct Called {
    id: String,
    function: FunctionCall,
}

/// What was said so far.
#[derive(Debug, Default)]
pub(super) struct Said {
    text: String,
    calls: BTreeMap<u32, Called>,
    finish_reason: Option<String>,
    usage: Option<Usage>,
    /// How much came in pieces, remembered or not.
    heard: usize,
}

impl Said {
    /// A further piece.
    pub(super) fn hear(&mut self, piece: &ChatChunk) {
        remember(&mut self.text, piece.text(), &mut self.heard);
        if let Some(reason) = piece.finish_reason() {
            self.finish_reason = Some(reason.to_owned());
        }
        if let Some(usage) = &piece.usage {
            self.usage = Some(usage.clone());
        }
        let first = piece.choices.iter().filter(|choice| choice.index == 0);
        first.flat_map(|choice| &choice.delta.tool_calls).for_each(|call| self.call(call));
    }

    fn call(&mut self, delta: &ToolCallDelta) {
        if !self.calls.contains_key(&delta.index) {
            self.heard = self.heard.saturating_add(CALL_BYTES);
        }
        if self.heard > MAX_HEARD_BYTES {
            return;
        }
        let call = self.calls.entry(delta.index).or_default();
        if let Some(id) = &delta.id {
            call.id.clear();
            remember(&mut call.id, id, &mut self.heard);
        }
        if let Some(function) = &delta.function {
            let FunctionCall { name, arguments } = &mut call.function;
            remember(name, function.name.as_deref().unwrap_or_default(), &mut self.heard);
            let more = function.arguments.as_deref().unwrap_or_default();
            remember(arguments, more, &mut self.heard);
        }
    }

    /// A whole answer.
    pub(super) fn hear_whole(&mut self, answer: &ChatCompletion) {
        answer.text().clone_into(&mut self.text);
        self.usage.clone_from(&answer.usage);
        let Some(choice) = answer.choices.first() else { return };
        self.finish_reason.clone_from(&choice.finish_reason);
        let calls = choice.message.tool_calls.iter().filter_map(|call| {
            Some(Called { id: call.id.clone(), function: call.function.clone()? })
        });
        self.calls = (0..).zip(calls).collect();
    }

    /// Whether there is nothing to keep.
    pub(super) fn is_nothing(&self) -> bool {
        self.text.is_empty() && self.calls.is_empty()
    }

    /// The answer of the project manager as one body.
    pub(super) fn completion(&self, turn: &Turn) -> ChatCompletion {
        let message =
            AssistantMessage { content: Some(self.text.clone()), ..AssistantMessage::default() };
        let reason = if self.heard > MAX_HEARD_BYTES { "length" } else { "stop" };
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

    /// The words, as they are kept: without secrets, and not endless.
    pub(super) fn kept_text(&self) -> String {
        kept(&self.text)
    }

    /// What else is kept.
    pub(super) fn kept_metadata(&self, turn: &Turn) -> Value {
        let mut metadata = self.metadata_for(&turn.model);
        if let Some(link) = turn.call.link {
            link.note(turn.repeats, &mut metadata);
        }
        if let Some(asked) = &turn.asked {
            asked.note(&mut metadata);
        }
        metadata
    }

    fn metadata_for(&self, model: &str) -> Value {
        let mut fields = Map::from_iter([("model_id".to_owned(), json!(model))]);
        let cut = (self.heard > MAX_HEARD_BYTES).then_some("length");
        if let Some(reason) = cut.or(self.finish_reason.as_deref()) {
            fields.insert("finish_reason".to_owned(), json!(kept(reason)));
        }
        if let Some(usage) = &self.usage {
            let tokens = json!({
                "prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens,
            });
            fields.insert("usage".to_owned(), tokens);
        }
        if !self.calls.is_empty() {
            let call = |call: &Called| {
                let FunctionCall { name, arguments } = &call.function;
                json!({ "id": kept(&call.id), "name": kept(name), "arguments": kept(arguments) })
            };
            fields.insert("tool_calls".to_owned(), self.calls.values().map(call).collect());
        }
        Value::Object(fields)
    }
}

/// Adds to a text as much as fits; after the first part that does not, nothing does.
fn remember(text: &mut String, more: &str, heard: &mut usize) {
    let left = MAX_HEARD_BYTES.saturating_sub(*heard);
    text.push_str(&more[..more.floor_char_boundary(left)]);
    *heard = heard.saturating_add(more.len());
}

/// A text without what must not, or cannot, be kept.
pub(super) fn kept(text: &str) -> String {
    let mut text = text.replace('\0', "").without_secrets();
    if text.len() > MAX_KEPT_BYTES {
        text.truncate(text.floor_char_boundary(MAX_KEPT_BYTES));
    }
    text
}

#[cfg(test)]
mod tests {
    use cynode_wire::openai::{Delta, FunctionDelta};

    use super::*;

    fn call(index: u32, name: Option<&str>, arguments: &str) -> ChatChunk {
        let function = FunctionDelta {
            name: name.map(ToOwned::to_owned),
            arguments: Some(arguments.to_owned()),
        };
        let id = name.map(|_| format!("call-{index}"));
        let delta =
            ToolCallDelta { index, id, function: Some(function), ..ToolCallDelta::default() };
        ChatChunk::of(Delta { tool_calls: vec![delta], ..Delta::default() }, None)
    }

    #[test]
    fn words_and_calls_are_put_together_from_their_pieces() {
        let mut said = Said::default();
        for piece in [
            ChatChunk::of(Delta::text("Let me "), None),
            ChatChunk::of(Delta::text("look."), None),
            call(0, Some("find"), "{\"q\":"),
            call(1, Some("count"), "{}"),
            call(0, None, "\"x\"}"),
            ChatChunk::of(Delta::default(), Some("tool_calls".to_owned())),
        ] {
            said.hear(&piece);
        }

        assert_eq!(said.kept_text(), "Let me look.");
        assert_eq!(
            said.metadata_for("p/m"),
            json!({"model_id": "p/m", "finish_reason": "tool_calls", "tool_calls": [
                {"id": "call-0", "name": "find", "arguments": "{\"q\":\"x\"}"},
                {"id": "call-1", "name": "count", "arguments": "{}"},
            ]})
        );
    }

    #[test]
    fn an_endless_answer_is_not_remembered_to_its_end() {
        let mut said = Said::default();
        let words = "ä".repeat(600_000);
        for index in 0..3 {
            said.hear(&ChatChunk::of(Delta::text(words.clone()), None));
            said.hear(&call(index, Some("f"), &words));
        }

        assert_eq!(said.text.len(), MAX_HEARD_BYTES);
        assert_eq!(said.kept_text().len(), MAX_KEPT_BYTES);
        assert_eq!(said.metadata_for("p/m")["finish_reason"], "length");
        assert!(said.calls.is_empty(), "{}", said.calls.len());
    }

    #[test]
    fn what_is_kept_has_neither_secrets_nor_nul_characters() {
        let needle = "Zk93hQ0vLx72PbNcR5tYw8AeUi4SdGf6";
        let mut said = Said::default();
        said.hear(&ChatChunk::of(Delta::text(format!("use ghp_{needle}\0")), None));

        assert_eq!(said.kept_text(), "use ghp_SECRET_REDACTED");
    }
}
