//! The pieces of an answer of the messages API.

use std::collections::VecDeque;

use cynode_wire::openai::{self, ChatChunk, Delta, FunctionDelta, ToolCallDelta};
use serde::Deserialize;

use super::answer::{Block, Message, Usage, finish_reason};
use crate::http::parse;
use crate::status::error_in;
use crate::stream::{Dialect, Progress};
use crate::{Key, ProviderError};

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Event {
    MessageStart {
        message: Message,
    },
    ContentBlockStart {
        content_block: Block,
    },
    ContentBlockDelta {
        delta: BlockDelta,
    },
    ContentBlockStop,
    MessageDelta {
        delta: MessageDelta,
        #[serde(default)]
        usage: Usage,
    },
    MessageStop,
    Error,
    /// Pings, and kinds that are newer than this program.
    #[serde(other)]
    Else,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BlockDelta {
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
struct MessageDelta {
    #[serde(default)]
    stop_reason: Option<String>,
}

/// Reads events, and says them in OpenAI's pieces.
pub(super) struct Events {
    secret: Option<Key>,
    /// What every piece repeats.
    id: String,
    model: String,
    prompt_tokens: u64,
    /// How many calls have begun.
    calls: u32,
    /// The call that is being written, and whether it has arguments yet.
    open: Option<OpenCall>,
}

struct OpenCall {
    index: u32,
    has_arguments: bool,
}

impl Events {
    pub(super) fn new(secret: Option<Key>) -> Self {
        Self {
            secret,
            id: String::new(),
            model: String::new(),
            prompt_tokens: 0,
            calls: 0,
            open: None,
        }
    }

    fn piece(&self, delta: Delta, finish_reason: Option<&str>) -> ChatChunk {
        let piece = ChatChunk::of(delta, finish_reason.map(str::to_owned));
        ChatChunk { id: self.id.clone(), model: self.model.clone(), ..piece }
    }

    fn begin(&mut self, message: Message) -> ChatChunk {
        self.prompt_tokens = message.usage.prompt_tokens();
        self.id = message.id;
        self.model = message.model;
        let delta = Delta { role: Some("assistant".to_owned()), ..Delta::text("") };
        self.piece(delta, None)
    }

    fn begin_block(&mut self, block: Block) -> Option<ChatChunk> {
        match block {
            Block::Text { text } if !text.is_empty() => Some(self.piece(Delta::text(text), None)),
            Block::ToolUse { id, name, .. } => {
                let index = self.calls;
                self.calls += 1;
                self.open = Some(OpenCall { index, has_arguments: false });
                let function = FunctionDelta { name: Some(name), arguments: Some(String::new()) };
                let call = ToolCallDelta {
                    index,
                    id: Some(id),
                    kind: Some("function".to_owned()),
                    function: Some(function),
                    ..ToolCallDelta::default()
                };
                Some(self.piece(Delta { tool_calls: vec![call], ..Delta::default() }, None))
            }
            Block::Text { .. } | Block::Else => None,
        }
    }

    fn arguments(&mut self, text: String) -> Option<ChatChunk> {
        if text.is_empty() {
            return None;
        }
        let open = self.open.as_mut()?;
        open.has_arguments = true;
        let function = Some(FunctionDelta { name: None, arguments: Some(text) });
        let call = ToolCallDelta { index: open.index, function, ..ToolCallDelta::default() };
        Some(self.piece(Delta { tool_calls: vec![call], ..Delta::default() }, None))
    }

    /// A call without arguments is written as one with none.
    fn end_block(&mut self) -> Option<ChatChunk> {
        let is_bare = self.open.as_ref().is_some_and(|open| !open.has_arguments);
        let piece = if is_bare { self.arguments("{}".to_owned()) } else { None };
        self.open = None;
        piece
    }

    fn end(&self, delta: &MessageDelta, usage: &Usage) -> [Option<ChatChunk>; 2] {
        let reason = delta.stop_reason.as_deref().map(finish_reason);
        let end = reason.map(|reason| self.piece(Delta::default(), Some(reason)));
        let usage = openai::Usage::new(self.prompt_tokens, usage.output_tokens);
        let cost = ChatChunk {
            choices: Vec::new(),
            usage: Some(usage),
            ..self.piece(Delta::default(), None)
        };
        [end, Some(cost)]
    }
}

impl Dialect for Events {
    fn read(
        &mut self,
        data: &str,
        ready: &mut VecDeque<ChatChunk>,
    ) -> Result<Progress, ProviderError> {
        match parse::<Event>(data.as_bytes(), self.secret.as_ref())? {
            Event::MessageStart { message } => ready.push_back(self.begin(message)),
            Event::ContentBlockStart { content_block } => {
                ready.extend(self.begin_block(content_block));
            }
            Event::ContentBlockDelta { delta: BlockDelta::TextDelta { text } } => {
                ready.push_back(self.piece(Delta::text(text), None));
            }
            Event::ContentBlockDelta { delta: BlockDelta::InputJsonDelta { partial_json } } => {
                ready.extend(self.arguments(partial_json));
            }
            Event::ContentBlockStop => ready.extend(self.end_block()),
            Event::MessageDelta { delta, usage } => {
                ready.extend(self.end(&delta, &usage).into_iter().flatten());
            }
            Event::MessageStop => return Ok(Progress::Done),
            Event::Error => {
                let error = error_in(data.as_bytes(), self.secret.as_ref());
                return Err(error.unwrap_or_else(|| ProviderError::malformed("an empty error")));
            }
            Event::ContentBlockDelta { delta: BlockDelta::Else } | Event::Else => {}
        }
        Ok(Progress::More)
    }

    fn is_whole(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Collector;

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
        let mut events = Events::new(None);
        let mut ready = VecDeque::new();
        for event in CALL {
            assert_eq!(events.read(event, &mut ready), Ok(Progress::More));
        }
        let end = events.read(r#"{"type":"message_stop"}"#, &mut ready);

        let mut collector = Collector::default();
        for piece in &ready {
            collector.push(piece);
        }
        let answer = collector.finish();

        assert_eq!(end, Ok(Progress::Done));
        assert!(ready.iter().all(|piece| piece.id == "msg_1" && piece.model == "claude"));
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

        let read = Events::new(None).read(error, &mut VecDeque::new());

        assert_eq!(read, Err(ProviderError::Unavailable { status: 200, retry_after: None }));
    }
}
