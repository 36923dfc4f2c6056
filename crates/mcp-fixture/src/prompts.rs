//! The prompts and the completions of their arguments.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::content;
use crate::exchange::{FixtureClientRequest, FixtureClientResponses, FixtureExchange};
use crate::fixture::McpFixture;
use crate::message::{FixtureRequest, FixtureRpcError};

const SUGGESTIONS: [&str; 4] = ["paris", "park", "party", "london"];

pub(crate) fn list_prompts(fixture: &McpFixture) -> Value {
    let argument = |name: &&str| json!({ "name": name, "description": "A text", "required": true });
    let prompt = |name: &str, arguments: &[&str]| {
        let arguments: Vec<Value> = arguments.iter().map(argument).collect();
        json!({ "name": name, "description": "A prompt for tests", "arguments": arguments })
    };
    let mut prompts = vec![
        prompt("test_simple_prompt", &[]),
        prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
        prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
        prompt("test_prompt_with_image", &[]),
        prompt("test_input_required_result_prompt", &[]),
    ];
    if fixture.extra_prompt.load(Ordering::Relaxed) {
        prompts.push(prompt("test_dynamic_prompt", &[]));
    }
    json!({ "prompts": prompts })
}

pub(crate) async fn get_prompt(exchange: &FixtureExchange) -> Result<Value, FixtureRpcError> {
    let request = &exchange.request;
    let argument = |name: &str| {
        let missing = || FixtureRpcError::invalid_params(format!("argument {name} is missing"));
        request.argument(name).ok_or_else(missing)
    };
    let messages = match request.text("name").unwrap_or_default() {
        "test_simple_prompt" => vec![content::text_block("This is a simple prompt for testing.")],
        "test_dynamic_prompt" => vec![content::text_block("This prompt comes and goes.")],
        "test_prompt_with_arguments" => {
            let (one, two) = (argument("arg1")?, argument("arg2")?);
            vec![content::text_block(format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))]
        }
        "test_prompt_with_embedded_resource" => vec![
            content::resource_block(
                argument("resourceUri")?,
                "text/plain",
                "Embedded resource content for testing.",
            ),
            content::text_block("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => {
            vec![content::image_block(), content::text_block("Please analyze the image above.")]
        }
        "test_input_required_result_prompt" => return prompt_with_input(exchange).await,
        name => return Err(FixtureRpcError::invalid_params(format!("there is no prompt {name}"))),
    };
    Ok(user_messages(&messages))
}

async fn prompt_with_input(exchange: &FixtureExchange) -> Result<Value, FixtureRpcError> {
    let question = FixtureClientRequest {
        key: "user_context",
        method: "elicitation/create",
        params: json!({
            "message": "What context should the prompt use?",
            "requestedSchema": {
                "type": "object",
                "properties": { "context": { "type": "string" } },
                "required": ["context"],
            },
        }),
    };
    match exchange.request_client(&[question], None).await? {
        FixtureClientResponses::Required(result) => Ok(result),
        FixtureClientResponses::Answers(answers) => {
            let context = answers["user_context"]["content"]["context"].as_str().unwrap_or("none");
            Ok(user_messages(&[content::text_block(format!("Use this context: {context}"))]))
        }
    }
}

fn user_messages(contents: &[Value]) -> Value {
    let messages: Vec<Value> =
        contents.iter().map(|content| json!({ "role": "user", "content": content })).collect();
    json!({ "messages": messages })
}

/// Completes an argument.
pub(crate) fn complete_argument(request: &FixtureRequest) -> Result<Value, FixtureRpcError> {
    let begun = request.params.get("argument").and_then(|argument| argument["value"].as_str());
    let begun =
        begun.ok_or_else(|| FixtureRpcError::invalid_params("argument.value is missing"))?;
    let values: Vec<&str> = SUGGESTIONS.into_iter().filter(|s| s.starts_with(begun)).collect();
    Ok(json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } }))
}
