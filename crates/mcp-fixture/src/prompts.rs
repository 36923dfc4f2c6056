//! The prompts and the completions of their arguments.

use std::sync::atomic::Ordering;

use rmcp::ErrorData;
use rmcp::model::{
    CompleteResult, CompletionInfo, ContentBlock, GetPromptResponse, GetPromptResult, Prompt,
    PromptArgument, PromptMessage, Role,
};
use serde_json::json;

use crate::content;
use crate::exchange::{FixtureClientRequest, FixtureClientResponses, FixtureExchange};
use crate::fixture::McpFixture;

const SUGGESTIONS: [&str; 4] = ["paris", "park", "party", "london"];

pub(crate) fn list_prompts(fixture: &McpFixture) -> Vec<Prompt> {
    let argument =
        |name: &&str| PromptArgument::new(*name).with_description("A text").with_required(true);
    let prompt = |name: &str, arguments: &[&str]| {
        let arguments = arguments.iter().map(argument).collect();
        Prompt::new(name, Some("A prompt for tests"), Some(arguments))
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
    prompts
}

pub(crate) async fn get_prompt(
    exchange: &FixtureExchange<'_>,
    name: &str,
) -> Result<GetPromptResponse, ErrorData> {
    let contents = match name {
        "test_simple_prompt" => vec![ContentBlock::text("This is a simple prompt for testing.")],
        "test_dynamic_prompt" => vec![ContentBlock::text("This prompt comes and goes.")],
        "test_prompt_with_arguments" => {
            let (one, two) = (exchange.text_argument("arg1")?, exchange.text_argument("arg2")?);
            vec![ContentBlock::text(format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))]
        }
        "test_prompt_with_embedded_resource" => vec![
            content::resource_block(
                exchange.text_argument("resourceUri")?,
                "text/plain",
                "Embedded resource content for testing.",
            ),
            ContentBlock::text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => {
            vec![content::image_block(), ContentBlock::text("Please analyze the image above.")]
        }
        "test_input_required_result_prompt" => return prompt_with_input(exchange).await,
        _ => return Err(ErrorData::invalid_params(format!("there is no prompt {name}"), None)),
    };
    Ok(user_messages(contents).into())
}

async fn prompt_with_input(exchange: &FixtureExchange<'_>) -> Result<GetPromptResponse, ErrorData> {
    let request = FixtureClientRequest {
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
    match exchange.request_client(&[request], None).await? {
        FixtureClientResponses::Required(result) => Ok(result.into()),
        FixtureClientResponses::Answers(answers) => {
            let context = answers["user_context"]["content"]["context"].as_str().unwrap_or("none");
            let text = format!("Use this context: {context}");
            Ok(user_messages(vec![ContentBlock::text(text)]).into())
        }
    }
}

fn user_messages(contents: Vec<ContentBlock>) -> GetPromptResult {
    let message = |content| PromptMessage::new(Role::User, content);
    GetPromptResult::new(contents.into_iter().map(message).collect())
}

/// Completes an argument.
pub(crate) fn complete_argument(begun: &str) -> Result<CompleteResult, ErrorData> {
    let values = SUGGESTIONS.into_iter().filter(|s| s.starts_with(begun));
    let values = CompletionInfo::with_all_values(values.map(str::to_owned).collect());
    values.map(CompleteResult::new).map_err(|error| ErrorData::internal_error(error, None))
}
