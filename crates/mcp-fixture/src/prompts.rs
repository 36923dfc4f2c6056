//! The prompts, and suggestions for their arguments.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};

use crate::content;
use crate::exchange::{Exchange, Inquiry, Question};
use crate::fixture::Fixture;
use crate::message::{Fault, Request};

const SUGGESTIONS: [&str; 4] = ["paris", "park", "party", "london"];

pub(crate) fn list(fixture: &Fixture) -> Value {
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

pub(crate) async fn get(exchange: &Exchange) -> Result<Value, Fault> {
    let request = &exchange.request;
    let argument = |name: &str| {
        let missing = || Fault::invalid_params(format!("argument {name} is missing"));
        request.argument(name).ok_or_else(missing)
    };
    let messages = match request.text("name").unwrap_or_default() {
        "test_simple_prompt" => vec![content::text("This is a simple prompt for testing.")],
        "test_dynamic_prompt" => vec![content::text("This prompt comes and goes.")],
        "test_prompt_with_arguments" => {
            let (one, two) = (argument("arg1")?, argument("arg2")?);
            vec![content::text(format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))]
        }
        "test_prompt_with_embedded_resource" => vec![
            content::resource(
                argument("resourceUri")?,
                "text/plain",
                "Embedded resource content for testing.",
            ),
            content::text("Please process the embedded resource above."),
        ],
        "test_prompt_with_image" => {
            vec![content::image(), content::text("Please analyze the image above.")]
        }
        "test_input_required_result_prompt" => return of_answers(exchange).await,
        name => return Err(Fault::invalid_params(format!("there is no prompt {name}"))),
    };
    Ok(from_user(&messages))
}

async fn of_answers(exchange: &Exchange) -> Result<Value, Fault> {
    let question = Question {
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
    match exchange.inquire(&[question], None).await? {
        Inquiry::Required(result) => Ok(result),
        Inquiry::Answers(answers) => {
            let context = answers["user_context"]["content"]["context"].as_str().unwrap_or("none");
            Ok(from_user(&[content::text(format!("Use this context: {context}"))]))
        }
    }
}

fn from_user(contents: &[Value]) -> Value {
    let messages: Vec<Value> =
        contents.iter().map(|content| json!({ "role": "user", "content": content })).collect();
    json!({ "messages": messages })
}

/// Suggests values for an argument.
pub(crate) fn complete(request: &Request) -> Result<Value, Fault> {
    let begun = request.params.get("argument").and_then(|argument| argument["value"].as_str());
    let begun = begun.ok_or_else(|| Fault::invalid_params("argument.value is missing"))?;
    let values: Vec<&str> = SUGGESTIONS.into_iter().filter(|s| s.starts_with(begun)).collect();
    Ok(json!({ "completion": { "values": values, "total": values.len(), "hasMore": false } }))
}
