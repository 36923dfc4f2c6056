//! Assembles a completion from its chunks.

use std::collections::BTreeMap;

use cynode_llm_wire::openai::{
    ChatChunk, ChatCompletion, Choice, ChunkChoice, FunctionCall, ToolCall, ToolCallDelta, Usage,
};

/// Assembles a completion from its chunks.
#[derive(Debug, Default)]
pub struct ChunkCollector {
    answer: ChatCompletion,
    choices: BTreeMap<u32, Choice>,
    /// Tool calls by choice and position in the message.
    calls: BTreeMap<(u32, u32), ToolCall>,
}

impl ChunkCollector {
    pub fn push(&mut self, chunk: &ChatChunk) {
        if self.answer.id.is_empty() {
            self.answer.id.clone_from(&chunk.id);
            self.answer.model.clone_from(&chunk.model);
            self.answer.created = chunk.created;
        }
        if let Some(usage) = &chunk.usage {
            self.answer.usage = Some(usage.clone());
        }
        for chunk in &chunk.choices {
            self.add_choice(chunk);
        }
    }

    /// The usage received so far.
    pub fn usage(&self) -> Option<&Usage> {
        self.answer.usage.as_ref()
    }

    /// Returns the completion received so far.
    pub fn finish(self) -> ChatCompletion {
        let Self { mut answer, mut choices, calls } = self;
        for ((index, _), call) in calls {
            if let Some(choice) = choices.get_mut(&index) {
                choice.message.tool_calls.push(call);
            }
        }
        "chat.completion".clone_into(&mut answer.object);
        answer.choices = choices.into_values().collect();
        answer
    }

    fn add_choice(&mut self, chunk: &ChunkChoice) {
        let choice = self.choices.entry(chunk.index).or_default();
        choice.index = chunk.index;
        append(&mut choice.message.content, chunk.delta.content.as_deref());
        append(&mut choice.message.refusal, chunk.delta.refusal.as_deref());
        if chunk.finish_reason.is_some() {
            choice.finish_reason.clone_from(&chunk.finish_reason);
        }
        for delta in &chunk.delta.tool_calls {
            let call = self
                .calls
                .entry((chunk.index, delta.index))
                .or_insert_with(|| ToolCall::function("", "", ""));
            extend_call(call, delta);
        }
    }
}

fn extend_call(call: &mut ToolCall, delta: &ToolCallDelta) {
    if let Some(id) = &delta.id {
        call.id.clone_from(id);
    }
    if let Some(kind) = &delta.kind {
        call.kind.clone_from(kind);
    }
    if let Some(added) = &delta.function {
        let function = call.function.get_or_insert_with(FunctionCall::default);
        function.name.push_str(added.name.as_deref().unwrap_or_default());
        function.arguments.push_str(added.arguments.as_deref().unwrap_or_default());
    }
}

fn append(text: &mut Option<String>, added: Option<&str>) {
    if let Some(added) = added {
        text.get_or_insert_default().push_str(added);
    }
}

/// Returns the text of a refusal; `None` if the model answered.
pub fn refusal(answer: &ChatCompletion) -> Option<&str> {
    let choice = answer.choices.first()?;
    let is_filtered = choice.finish_reason.as_deref() == Some("content_filter");
    let refusal = choice.message.refusal.as_deref();
    refusal.or_else(|| is_filtered.then(|| choice.message.content.as_deref().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use cynode_llm_wire::openai::{Delta, FunctionDelta};

    use super::*;

    fn call(index: u32, id: Option<&str>, name: Option<&str>, arguments: &str) -> ChatChunk {
        let function =
            FunctionDelta { name: name.map(str::to_owned), arguments: Some(arguments.to_owned()) };
        let delta = ToolCallDelta {
            index,
            id: id.map(str::to_owned),
            function: Some(function),
            ..ToolCallDelta::default()
        };
        ChatChunk::new(Delta { tool_calls: vec![delta], ..Delta::default() }, None)
    }

    #[test]
    fn words_and_calls_are_put_together_in_order() {
        let mut collector = ChunkCollector::default();
        collector.push(&ChatChunk::new(Delta::text("Let me "), None));
        collector.push(&ChatChunk::new(Delta::text("look."), None));
        collector.push(&call(0, Some("a"), Some("read"), "{\"x\""));
        collector.push(&call(1, Some("b"), Some("list"), "{}"));
        collector.push(&call(0, None, None, ":1}"));
        collector.push(&ChatChunk::new(Delta::default(), Some("tool_calls".to_owned())));
        collector.push(&ChatChunk { usage: Some(Usage::new(3, 4)), ..ChatChunk::default() });

        let answer = collector.finish();

        assert_eq!(answer.text(), "Let me look.");
        let calls =
            [ToolCall::function("a", "read", "{\"x\":1}"), ToolCall::function("b", "list", "{}")];
        assert_eq!(answer.message().unwrap().tool_calls, calls);
        assert_eq!(answer.choices[0].finish_reason.as_deref(), Some("tool_calls"));
        assert_eq!(answer.usage, Some(Usage::new(3, 4)));
    }

    #[test]
    fn a_refusal_is_found_by_its_words_and_by_its_reason() {
        let mut refused = ChatCompletion { choices: vec![Choice::default()], ..Default::default() };
        assert_eq!(refusal(&refused), None);

        refused.choices[0].finish_reason = Some("content_filter".to_owned());
        assert_eq!(refusal(&refused), Some(""));
        refused.choices[0].message.refusal = Some("I cannot help.".to_owned());
        assert_eq!(refusal(&refused), Some("I cannot help."));
    }
}
