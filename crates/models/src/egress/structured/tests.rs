//! Tests of a forced function in each form, and back.

use cynode_llm_wire::openai::{AssistantMessage, Choice, ToolDefinition};

use super::*;

const FORMS: [AnswerStructure; 4] = [
    AnswerStructure::ForcedTool,
    AnswerStructure::RequiredTool,
    AnswerStructure::JsonSchema,
    AnswerStructure::FencedJson,
];

fn request() -> (ChatRequest, FunctionDefinition) {
    let schema = json!({
        "type": "object",
        "properties": {
            "lines": { "type": "array", "items": { "type": "string" }, "description": "What to run." },
            "state": { "enum": ["on", "off"] },
            "note": { "type": "string" },
            "rows": { "type": "array", "items": {
                "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"],
            } },
        },
        "required": ["lines", "state", "rows"],
    });
    let tool = ToolDefinition::function("respond", "Gives the answer.", schema);
    let other = ToolDefinition::function("other", "", json!({ "type": "object" }));
    let said = ChatMessage {
        tool_calls: vec![ToolCall::function("c1", "respond", "{}")],
        ..ChatMessage::text("assistant", "")
    };
    let request = ChatRequest {
        messages: vec![
            ChatMessage::text("system", "S"),
            ChatMessage::text("user", "Plan it."),
            said,
            ChatMessage::tool_result("c1", "That cannot be used."),
        ],
        tool_choice: tool.forced(),
        tools: vec![other, tool],
        ..ChatRequest::default()
    };
    let function = forced_function(&request).unwrap();
    (request, function)
}

#[test]
fn a_request_is_written_in_the_form_that_the_model_honours() {
    let [named, required, schema, fenced] = FORMS.map(|structure| {
        let (mut request, function) = request();
        adapt_request(&mut request, &function, structure);
        request
    });

    assert_eq!((named.tools.len(), named.tool_choice), (2, request().0.tool_choice));
    assert_eq!((required.tools.len(), required.tool_choice), (1, Some(json!("required"))));
    for plain in [&schema, &fenced] {
        assert!(plain.tools.is_empty() && plain.tool_choice.is_none());
        assert!(plain.messages.iter().all(|it| it.tool_calls.is_empty() && it.role != "tool"));
        let last = plain.messages.last().unwrap().plain_text();
        assert!(last.starts_with("That cannot be used.\n\nAnswer with one JSON object"), "{last}");
        for part in [
            "lines: Array<string> // What to run.",
            "state: \"on\" | \"off\"",
            "note?: string",
            "n: number",
        ] {
            assert!(last.contains(part), "{part}: {last}");
        }
    }
    assert_eq!(schema.other["response_format"]["json_schema"]["name"], "respond");
    assert_eq!(schema.other["response_format"]["json_schema"]["strict"], true);
    assert!(!fenced.other.contains_key("response_format"));
}

#[test]
fn a_model_that_is_free_to_choose_is_left_alone() {
    let (request, _) = request();
    for choice in [None, Some(json!("auto")), Some(json!("required"))] {
        let free = ChatRequest { tool_choice: choice, ..request.clone() };
        assert_eq!(forced_function(&free), None);
    }
}

fn completion_with_text(content: &str) -> ChatCompletion {
    let message = AssistantMessage { content: Some(content.to_owned()), ..Default::default() };
    let finish_reason = Some("stop".to_owned());
    let choices = vec![Choice { message, finish_reason, ..Choice::default() }];
    ChatCompletion { choices, ..ChatCompletion::default() }
}

/// Texts that mean the call `respond({"a":1})`.
const MEANT: [&str; 5] = [
    r#"{"a": 1}"#,
    "```json\n{\"a\": 1}\n```",
    r#"{{"name": "respond", "arguments": {"a": 1}}}"#,
    "<tool_call>{\"name\": \"respond\", \"arguments\": {\"a\": 1}}</tool_call>",
    "<think>{\"a\": 0}</think>{\"a\": 1}",
];

#[test]
fn what_a_model_writes_as_text_becomes_the_call_that_was_forced() {
    let (_, function) = request();
    for text in MEANT {
        let mut answer = completion_with_text(text);

        assert!(restore_call(&mut answer, &function), "{text}");

        let choice = &answer.choices[0];
        let call = choice.message.tool_calls[0].function.as_ref().unwrap();
        assert_eq!((call.name.as_str(), call.arguments.as_str()), ("respond", r#"{"a":1}"#));
        assert_eq!(
            (choice.finish_reason.as_deref(), &choice.message.content),
            (Some("tool_calls"), &None)
        );
    }
    let mut prose = completion_with_text("I would rather talk.");
    assert!(!restore_call(&mut prose, &function));
    assert_eq!(prose, completion_with_text("I would rather talk."));
}

#[tokio::test]
async fn the_pieces_of_a_text_become_one_call_before_the_end() {
    let (_, function) = request();
    for text in MEANT {
        let chunks = text.split_inclusive(' ').map(|it| ChatChunk::new(Delta::text(it), None));
        let end = ChatChunk::new(Delta::default(), Some("stop".to_owned()));
        let chunks = stream::iter(chunks.chain([end]).map(Ok)).boxed();

        let chunks = restore_call_stream(chunks, function.clone(), || panic!("there is a call"));
        let mut whole = cynode_llm::ChunkCollector::default();
        let mut chunks = std::pin::pin!(chunks);
        while let Some(chunk) = chunks.next().await {
            whole.push(&chunk.unwrap());
        }

        let answer = whole.finish();
        assert_eq!(answer.text(), "");
        let call = answer.message().unwrap().tool_calls[0].function.as_ref().unwrap();
        assert_eq!((call.name.as_str(), call.arguments.as_str()), ("respond", r#"{"a":1}"#));
    }
}

#[tokio::test]
async fn pieces_without_a_call_are_passed_on_and_reported() {
    let (_, function) = request();
    let end = ChatChunk::new(Delta::text(" talk"), Some("stop".to_owned()));
    let chunks = [ChatChunk::new(Delta::text("I would rather"), None), end];
    let (report, reported) = std::sync::mpsc::channel();

    let chunks = restore_call_stream(stream::iter(chunks.map(Ok)).boxed(), function, move || {
        report.send(()).unwrap();
    });
    let said: String = chunks.map(|chunk| chunk.unwrap().text().to_owned()).collect().await;

    assert_eq!(said, "I would rather talk");
    reported.try_recv().unwrap();
}
