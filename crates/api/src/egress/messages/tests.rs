//! Both directions together: a call of a tool survives the way to the agent and back, whole and streamed.

use cynode_llm_wire::anthropic::{
    ContentBlock, MessageContent, MessageParam, MessageRole, MessagesBlock, MessagesBlockDelta,
    MessagesEvent,
};
use cynode_llm_wire::openai::{
    AssistantMessage, ChatChunk, ChatCompletion, ChatRequest, Choice, Delta, FunctionDelta, Other,
    ToolCall, ToolCallDelta,
};
use http::HeaderValue;
use http::header::AUTHORIZATION;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::events::MessagesEventTranslator;
use super::*;

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            object_of(inner),
        ]
    })
}

fn object_of(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let fields = prop::collection::btree_map(any::<String>(), values, 0..4);
    fields.prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

fn tool_calls() -> impl Strategy<Value = Vec<ToolCall>> {
    let call = ("[a-zA-Z0-9_-]{1,12}", "[a-zA-Z0-9_-]{1,12}", object_of(json_value()));
    let call = call.prop_map(|(id, name, input)| ToolCall::function(&id, &name, input.to_string()));
    prop::collection::vec(call, 1..4)
}

fn completion(text: &str, tool_calls: Vec<ToolCall>) -> ChatCompletion {
    let content = Some(text.to_owned());
    let message = AssistantMessage { content, tool_calls, ..AssistantMessage::default() };
    let choice = Choice {
        index: 0,
        message,
        finish_reason: Some("tool_calls".to_owned()),
        other: Other::new(),
    };
    ChatCompletion { choices: vec![choice], ..ChatCompletion::default() }
}

/// The next request of an agent: it repeats the answer and adds the results of the calls.
fn next_request(answer: &MessagesResponse) -> MessagesRequest {
    let blocks = serde_json::to_value(&answer.content).unwrap();
    let result = |block: &MessagesBlock| match block {
        MessagesBlock::Text { .. } => None,
        MessagesBlock::ToolUse { id, .. } => Some(ContentBlock {
            kind: "tool_result".to_owned(),
            tool_use_id: Some(id.clone()),
            content: Some(MessageContent::Text("done".to_owned())),
            ..ContentBlock::default()
        }),
    };
    let results = answer.content.iter().filter_map(result).collect();
    let (user, assistant) = (MessageRole::User, MessageRole::Assistant);
    MessagesRequest {
        messages: vec![
            MessageParam { role: assistant, content: serde_json::from_value(blocks).unwrap() },
            MessageParam { role: user, content: MessageContent::Blocks(results) },
        ],
        ..serde_json::from_value(json!({"model": "m", "max_tokens": 1, "messages": []})).unwrap()
    }
}

/// The calls with parsed arguments, because the text of arguments may be formatted differently.
fn parsed(calls: &[ToolCall]) -> Vec<(String, String, Value)> {
    let functions = calls.iter().map(|call| (call, call.function.as_ref().unwrap()));
    functions
        .map(|(call, function)| {
            let input = serde_json::from_str(&function.arguments).unwrap();
            (call.id.clone(), function.name.clone(), input)
        })
        .collect()
}

/// The chunks of the calls, split at these positions and sent round-robin.
fn interleaved(calls: &[ToolCall], size: usize) -> Vec<ChatChunk> {
    let mut rest: Vec<Vec<String>> = Vec::new();
    for call in calls {
        let text: Vec<char> = call.function.as_ref().unwrap().arguments.chars().collect();
        rest.push(text.chunks(size).rev().map(|part| part.iter().collect()).collect());
    }
    let mut chunks = Vec::new();
    let mut is_first = true;
    while is_first || rest.iter().any(|parts| !parts.is_empty()) {
        for (index, call) in calls.iter().enumerate() {
            let name = is_first.then(|| call.function.as_ref().unwrap().name.clone());
            let arguments = rest[index].pop();
            let delta = ToolCallDelta {
                index: u32::try_from(index).unwrap(),
                id: is_first.then(|| call.id.clone()),
                function: Some(FunctionDelta { name, arguments }),
                ..ToolCallDelta::default()
            };
            let delta = Delta { tool_calls: vec![delta], ..Delta::default() };
            chunks.push(ChatChunk::new(delta, None));
        }
        is_first = false;
    }
    chunks
}

/// The content that a client collects from the events; blocks do not overlap.
fn collected(events: &[MessagesEvent]) -> Vec<MessagesBlock> {
    let mut blocks: Vec<MessagesBlock> = Vec::new();
    let (mut json, mut is_open) = (String::new(), false);
    for event in events {
        match event {
            MessagesEvent::ContentBlockStart { index, content_block } => {
                assert!(!is_open && *index as usize == blocks.len());
                blocks.push(content_block.clone());
                is_open = true;
            }
            MessagesEvent::ContentBlockDelta { index, delta } => {
                assert!(is_open && *index as usize + 1 == blocks.len());
                match (blocks.last_mut().unwrap(), delta) {
                    (
                        MessagesBlock::Text { text },
                        MessagesBlockDelta::TextDelta { text: more },
                    ) => {
                        text.push_str(more);
                    }
                    (
                        MessagesBlock::ToolUse { .. },
                        MessagesBlockDelta::InputJsonDelta { partial_json },
                    ) => json.push_str(partial_json),
                    (block, delta) => panic!("{delta:?} in {block:?}"),
                }
            }
            MessagesEvent::ContentBlockStop { .. } => {
                if let Some(MessagesBlock::ToolUse { input, .. }) = blocks.last_mut() {
                    *input = serde_json::from_str(&std::mem::take(&mut json)).unwrap();
                }
                is_open = false;
            }
            MessagesEvent::MessageStart { .. }
            | MessagesEvent::MessageDelta { .. }
            | MessagesEvent::MessageStop => {}
            MessagesEvent::Ping | MessagesEvent::Error { .. } => panic!("{event:?}"),
        }
    }
    blocks
}

proptest! {
    #[test]
    fn calls_of_tools_survive_messages_and_the_next_request(calls in tool_calls(), text in ".*") {
        let context = AnswerContext::new(&ChatRequest::default(), TraceId::generate());
        let answer = response::translate(&completion(&text, calls.clone()), &context);
        let chat = request::translate(next_request(&answer)).unwrap();

        prop_assert_eq!(chat.messages[0].plain_text(), text);
        prop_assert_eq!(parsed(&chat.messages[0].tool_calls), parsed(&calls));
        let results = chat.messages[1..].iter().map(|it| it.tool_call_id.clone().unwrap());
        let ids: Vec<String> = calls.iter().map(|call| call.id.clone()).collect();
        prop_assert_eq!(results.collect::<Vec<_>>(), ids);
    }

    #[test]
    fn streamed_messages_have_the_content_of_whole_ones(calls in tool_calls(), size in 1..9_usize) {
        let context = AnswerContext::new(&ChatRequest::default(), TraceId::generate());
        let whole = response::translate(&completion("look", calls.clone()), &context);
        let mut translator = MessagesEventTranslator::new(context);
        let mut events = translator.push_chunk(&ChatChunk::new(Delta::text("lo"), None));
        for chunk in interleaved(&calls, size) {
            events.extend(translator.push_chunk(&chunk));
        }
        events.extend(translator.push_chunk(&ChatChunk::new(Delta::text("ok"), None)));
        events.extend(translator.finish());

        prop_assert_eq!(collected(&events), whole.content);
    }
}

#[test]
fn the_agent_token_of_messages_is_a_bearer_token_or_a_key() {
    let mut headers = HeaderMap::new();
    assert_eq!(agent_token(&headers), None);
    headers.insert(KEY_HEADER, HeaderValue::from_static("key"));
    assert_eq!(agent_token(&headers), Some("key"));
    headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer token"));
    assert_eq!(agent_token(&headers), Some("token"));
}
