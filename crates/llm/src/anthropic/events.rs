//! Stream events of the messages API.

use std::collections::VecDeque;

use cynode_llm_wire::openai::{self, ChatChunk, Delta, FunctionDelta, ToolCallDelta};
use serde::Deserialize;

use super::response::{AnthropicBlock, AnthropicMessage, AnthropicUsage, finish_reason};
use crate::http::parse_body;
use crate::status::parse_error;
use crate::stream::{ChunkStreamProgress, EventFormat};
use crate::{ProviderCredential, ProviderError};

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicEvent {
    MessageStart {
        message: AnthropicMessage,
    },
    ContentBlockStart {
        content_block: AnthropicBlock,
    },
    ContentBlockDelta {
        delta: AnthropicBlockDelta,
    },
    ContentBlockStop,
    MessageDelta {
        delta: AnthropicMessageDelta,
        #[serde(default)]
        usage: AnthropicUsage,
    },
    MessageStop,
    Error,
    /// Pings and unknown types.
    #[serde(other)]
    Else,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicBlockDelta {
    TextDelta {
        text: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Else,
}

#[derive(Debug, Deserialize)]
struct AnthropicMessageDelta {
    #[serde(default)]
    stop_reason: Option<String>,
}

/// Translates events into OpenAI chunks.
pub(super) struct AnthropicEventParser {
    secret: Option<ProviderCredential>,
    /// Repeated in every chunk, like `model`.
    id: String,
    model: String,
    prompt_tokens: u64,
    /// The number of tool calls so far.
    calls: u32,
    /// The tool call that is being streamed.
    open: Option<AnthropicOpenCall>,
}

struct AnthropicOpenCall {
    index: u32,
    has_arguments: bool,
}

impl AnthropicEventParser {
    pub(super) fn new(secret: Option<ProviderCredential>) -> Self {
        Self {
            secret,
            id: String::new(),
            model: String::new(),
            prompt_tokens: 0,
            calls: 0,
            open: None,
        }
    }

    fn chunk(&self, delta: Delta, finish_reason: Option<&str>) -> ChatChunk {
        let chunk = ChatChunk::new(delta, finish_reason.map(str::to_owned));
        ChatChunk { id: self.id.clone(), model: self.model.clone(), ..chunk }
    }

    fn start_message(&mut self, message: AnthropicMessage) -> ChatChunk {
        self.prompt_tokens = message.usage.prompt_tokens();
        self.id = message.id;
        self.model = message.model;
        let delta = Delta { role: Some("assistant".to_owned()), ..Delta::text("") };
        self.chunk(delta, None)
    }

    fn start_block(&mut self, block: AnthropicBlock) -> Option<ChatChunk> {
        match block {
            AnthropicBlock::Text { text } if !text.is_empty() => {
                Some(self.chunk(Delta::text(text), None))
            }
            AnthropicBlock::ToolUse { id, name, .. } => {
                let index = self.calls;
                self.calls += 1;
                self.open = Some(AnthropicOpenCall { index, has_arguments: false });
                let function = FunctionDelta { name: Some(name), arguments: Some(String::new()) };
                let call = ToolCallDelta {
                    index,
                    id: Some(id),
                    kind: Some("function".to_owned()),
                    function: Some(function),
                    ..ToolCallDelta::default()
                };
                Some(self.chunk(Delta { tool_calls: vec![call], ..Delta::default() }, None))
            }
            AnthropicBlock::Text { .. } | AnthropicBlock::Else => None,
        }
    }

    fn append_arguments(&mut self, text: String) -> Option<ChatChunk> {
        if text.is_empty() {
            return None;
        }
        let open = self.open.as_mut()?;
        open.has_arguments = true;
        let function = Some(FunctionDelta { name: None, arguments: Some(text) });
        let call = ToolCallDelta { index: open.index, function, ..ToolCallDelta::default() };
        Some(self.chunk(Delta { tool_calls: vec![call], ..Delta::default() }, None))
    }

    /// Ends a block; a tool call without arguments gets an empty object.
    fn finish_block(&mut self) -> Option<ChatChunk> {
        let is_bare = self.open.as_ref().is_some_and(|open| !open.has_arguments);
        let chunk = if is_bare { self.append_arguments("{}".to_owned()) } else { None };
        self.open = None;
        chunk
    }

    fn finish_message(
        &self,
        delta: &AnthropicMessageDelta,
        usage: &AnthropicUsage,
    ) -> [Option<ChatChunk>; 2] {
        let reason = delta.stop_reason.as_deref().map(finish_reason);
        let end = reason.map(|reason| self.chunk(Delta::default(), Some(reason)));
        let usage = openai::Usage::new(self.prompt_tokens, usage.output_tokens);
        let cost = ChatChunk {
            choices: Vec::new(),
            usage: Some(usage),
            ..self.chunk(Delta::default(), None)
        };
        [end, Some(cost)]
    }
}

impl EventFormat for AnthropicEventParser {
    fn parse_event(
        &mut self,
        data: &str,
        ready: &mut VecDeque<ChatChunk>,
    ) -> Result<ChunkStreamProgress, ProviderError> {
        match parse_body::<AnthropicEvent>(data.as_bytes(), self.secret.as_ref())? {
            AnthropicEvent::MessageStart { message } => {
                ready.push_back(self.start_message(message));
            }
            AnthropicEvent::ContentBlockStart { content_block } => {
                ready.extend(self.start_block(content_block));
            }
            AnthropicEvent::ContentBlockDelta {
                delta: AnthropicBlockDelta::TextDelta { text },
            } => {
                ready.push_back(self.chunk(Delta::text(text), None));
            }
            AnthropicEvent::ContentBlockDelta {
                delta: AnthropicBlockDelta::InputJsonDelta { partial_json },
            } => {
                ready.extend(self.append_arguments(partial_json));
            }
            AnthropicEvent::ContentBlockStop => ready.extend(self.finish_block()),
            AnthropicEvent::MessageDelta { delta, usage } => {
                ready.extend(self.finish_message(&delta, &usage).into_iter().flatten());
            }
            AnthropicEvent::MessageStop => return Ok(ChunkStreamProgress::Done),
            AnthropicEvent::Error => {
                let error = parse_error(data.as_bytes(), self.secret.as_ref());
                return Err(error.unwrap_or_else(|| ProviderError::malformed("an empty error")));
            }
            AnthropicEvent::ContentBlockDelta { delta: AnthropicBlockDelta::Else }
            | AnthropicEvent::Else => {}
        }
        Ok(ChunkStreamProgress::More)
    }

    fn is_complete(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ChunkCollector;

    const CALL: &[&str] = &[
        r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"usage":{"input_tokens":25,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type": "ping"}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I will "}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"look."}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":" \"Rome\"}"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_2","name":"now","input":{}}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":15}}"#,
    ];

    #[test]
    fn events_become_pieces_of_one_answer() {
        let mut events = AnthropicEventParser::new(None);
        let mut ready = VecDeque::new();
        for event in CALL {
            assert_eq!(events.parse_event(event, &mut ready), Ok(ChunkStreamProgress::More));
        }
        let end = events.parse_event(r#"{"type":"message_stop"}"#, &mut ready);

        let mut collector = ChunkCollector::default();
        for chunk in &ready {
            collector.push(chunk);
        }
        let answer = collector.finish();

        assert_eq!(end, Ok(ChunkStreamProgress::Done));
        assert!(ready.iter().all(|chunk| chunk.id == "msg_1" && chunk.model == "claude"));
        assert_eq!(answer.text(), "I will look.");
        let calls = [
            openai::ToolCall::function("toolu_1", "weather", "{\"city\": \"Rome\"}"),
            openai::ToolCall::function("toolu_2", "now", "{}"),
        ];
        assert_eq!(answer.message().unwrap().tool_calls, calls);
        assert_eq!(answer.choices[0].finish_reason.as_deref(), Some("tool_calls"));
        assert_eq!(answer.usage, Some(openai::Usage::new(25, 15)));
    }

    #[test]
    fn an_error_in_the_stream_ends_it() {
        let error =
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;

        let read = AnthropicEventParser::new(None).parse_event(error, &mut VecDeque::new());

        assert_eq!(read, Err(ProviderError::Unavailable { status: 200, retry_after: None }));
    }
}
