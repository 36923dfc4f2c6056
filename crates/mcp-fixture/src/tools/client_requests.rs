//! The tools that send requests to the client: elicitation, sampling and roots.

use serde_json::{Map, Value, json};

use crate::content::text_result;
use crate::exchange::{FixtureClientRequest, FixtureClientResponses, FixtureExchange};
use crate::fixture::McpFixture;
use crate::message::FixtureRpcError;

/// Calls the tool, which must be one of these.
pub(super) async fn call_tool(
    fixture: &McpFixture,
    exchange: &FixtureExchange,
    name: &str,
) -> Result<Value, FixtureRpcError> {
    match name {
        "test_sampling" => {
            let prompt = argument(exchange, "prompt")?;
            request_and_render(
                exchange,
                &[sampling_request("answer", prompt, 100)],
                None,
                sampled_text,
            )
            .await
        }
        "test_elicitation" => {
            let message = argument(exchange, "message")?;
            let text = |description| json!({ "type": "string", "description": description });
            let fields = json!({
                "username": text("User's response"), "email": text("User's email address"),
            });
            let question = elicitation_request("answer", message, &fields, &["username", "email"]);
            request_and_render(exchange, &[question], None, elicited_text).await
        }
        "test_elicitation_sep1034_defaults" => {
            request_and_render(
                exchange,
                &[elicitation_request("answer", "Please review", &default_fields(), &[])],
                None,
                completed,
            )
            .await
        }
        "test_elicitation_sep1330_enums" => {
            request_and_render(
                exchange,
                &[elicitation_request("answer", "Please choose", &choice_fields(), &[])],
                None,
                completed,
            )
            .await
        }
        "test_missing_capability" => {
            request_and_render(
                exchange,
                &[sampling_request("answer", "Say yes", 10)],
                None,
                sampled_text,
            )
            .await
        }
        _ => call_input_required_tool(fixture, exchange, name).await,
    }
}

/// Calls a tool of the conformance suite about results that require input.
async fn call_input_required_tool(
    fixture: &McpFixture,
    exchange: &FixtureExchange,
    name: &str,
) -> Result<Value, FixtureRpcError> {
    let stateful = |text: &str| Some(fixture.seal.seal(name, text));
    match name {
        "test_streaming_elicitation" | "test_input_required_result_elicitation" => {
            request_and_render(exchange, &[name_request()], None, |answers| {
                format!(
                    "Hello, {}!",
                    answers["user_name"]["content"]["name"].as_str().unwrap_or("you")
                )
            })
            .await
        }
        "test_input_required_result_sampling" => {
            let question =
                sampling_request("capital_question", "What is the capital of France?", 100);
            request_and_render(exchange, &[question], None, sampled_text).await
        }
        "test_input_required_result_list_roots" => {
            request_and_render(exchange, &[roots_request()], None, |answers| {
                format!("Roots: {}", answers["client_roots"])
            })
            .await
        }
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => {
            echoed_state(fixture, exchange, name)?;
            request_and_render(exchange, &[confirmation_request()], stateful("asked"), |_| {
                "state-ok".to_owned()
            })
            .await
        }
        "test_input_required_result_multiple_inputs" => {
            echoed_state(fixture, exchange, name)?;
            let questions = [
                name_request(),
                sampling_request("greeting", "Generate a greeting", 50),
                roots_request(),
            ];
            request_and_render(exchange, &questions, stateful("asked"), |answers| {
                format!("{answers:?}")
            })
            .await
        }
        "test_input_required_result_multi_round" => {
            ask_in_two_rounds(fixture, exchange, name).await
        }
        "test_input_required_result_capabilities" => {
            let all = [
                name_request(),
                sampling_request("greeting", "Generate a greeting", 50),
                roots_request(),
            ];
            let can: Vec<_> =
                all.into_iter().filter(|q| exchange.client_supports(q.capability())).collect();
            request_and_render(exchange, &can, None, |answers| format!("{} answers", answers.len()))
                .await
        }
        _ => Err(FixtureRpcError::invalid_params(format!("there is no tool {name}"))),
    }
}

/// Sends the requests and renders the responses with `words`.
async fn request_and_render(
    exchange: &FixtureExchange,
    questions: &[FixtureClientRequest],
    state: Option<String>,
    words: impl Fn(&Map<String, Value>) -> String,
) -> Result<Value, FixtureRpcError> {
    Ok(match exchange.request_client(questions, state).await? {
        FixtureClientResponses::Answers(answers) => text_result(words(&answers)),
        FixtureClientResponses::Required(result) => result,
    })
}

/// Asks for a name, then for a colour. The round is stored in the echoed state.
async fn ask_in_two_rounds(
    fixture: &McpFixture,
    exchange: &FixtureExchange,
    name: &str,
) -> Result<Value, FixtureRpcError> {
    let state = echoed_state(fixture, exchange, name)?;
    let step = |key, text, field: &str| {
        elicitation_request(key, text, &json!({ field: { "type": "string" } }), &[field])
    };
    let asked = state.as_deref().and_then(|state| state.strip_prefix("colour of "));
    let person = if let Some(person) = asked {
        person.to_owned()
    } else {
        let first = step("step1", "Step 1: What is your name?", "name");
        match exchange.request_client(&[first], Some(fixture.seal.seal(name, "name"))).await? {
            FixtureClientResponses::Required(result) => return Ok(result),
            FixtureClientResponses::Answers(answers) => {
                answers["step1"]["content"]["name"].as_str().unwrap_or("you").to_owned()
            }
        }
    };
    let second = step("step2", "Step 2: What is your favorite color?", "color");
    let state = Some(fixture.seal.seal(name, &format!("colour of {person}")));
    request_and_render(exchange, &[second], state, |answers| {
        format!("{person} likes {}", answers["step2"]["content"]["color"])
    })
    .await
}

/// The state echoed by the client; rejects a modified one.
fn echoed_state(
    fixture: &McpFixture,
    exchange: &FixtureExchange,
    tool: &str,
) -> Result<Option<String>, FixtureRpcError> {
    let Some(sealed) = exchange.request.text("requestState") else {
        return Ok(None);
    };
    let state = fixture.seal.verify(tool, sealed);
    state
        .map(Some)
        .ok_or_else(|| FixtureRpcError::invalid_params("requestState is not what was given out"))
}

fn argument<'a>(exchange: &'a FixtureExchange, name: &str) -> Result<&'a str, FixtureRpcError> {
    let missing = || FixtureRpcError::invalid_params(format!("argument {name} is missing"));
    exchange.request.argument(name).ok_or_else(missing)
}

fn elicitation_request(
    key: &'static str,
    message: &str,
    fields: &Value,
    required: &[&str],
) -> FixtureClientRequest {
    let schema = json!({ "type": "object", "properties": fields, "required": required });
    let params = json!({ "message": message, "requestedSchema": schema });
    FixtureClientRequest { key, method: "elicitation/create", params }
}

fn name_request() -> FixtureClientRequest {
    let fields = json!({ "name": { "type": "string" } });
    elicitation_request("user_name", "What is your name?", &fields, &["name"])
}

fn confirmation_request() -> FixtureClientRequest {
    elicitation_request(
        "confirm",
        "Please confirm",
        &json!({ "ok": { "type": "boolean" } }),
        &["ok"],
    )
}

fn sampling_request(key: &'static str, prompt: &str, max_tokens: u32) -> FixtureClientRequest {
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    let params = json!({ "messages": [message], "maxTokens": max_tokens });
    FixtureClientRequest { key, method: "sampling/createMessage", params }
}

fn roots_request() -> FixtureClientRequest {
    FixtureClientRequest { key: "client_roots", method: "roots/list", params: json!({}) }
}

fn default_fields() -> Value {
    json!({
        "name": { "type": "string", "description": "User name", "default": "John Doe" },
        "age": { "type": "integer", "description": "User age", "default": 30 },
        "score": { "type": "number", "description": "User score", "default": 95.5 },
        "status": {
            "type": "string", "enum": ["active", "inactive", "pending"], "default": "active",
        },
        "verified": { "type": "boolean", "description": "Verification status", "default": true },
    })
}

fn choice_fields() -> Value {
    let titled = |title: &str| {
        let choice = |number, word| json!({ "const": format!("value{number}"), "title": format!("{word} {title}") });
        json!([choice(1, "First"), choice(2, "Second"), choice(3, "Third")])
    };
    let plain = json!(["option1", "option2", "option3"]);
    json!({
        "untitledSingle": { "type": "string", "enum": plain },
        "titledSingle": { "type": "string", "oneOf": titled("Option") },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": plain } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
    })
}

fn sampled_text(answers: &Map<String, Value>) -> String {
    let text = answers.values().next().and_then(|answer| answer["content"]["text"].as_str());
    format!("LLM response: {}", text.unwrap_or("nothing"))
}

fn elicited_text(answers: &Map<String, Value>) -> String {
    let answer = &answers["answer"];
    format!("User response: action={}, content={}", text_of(&answer["action"]), answer["content"])
}

fn completed(answers: &Map<String, Value>) -> String {
    let answer = &answers["answer"];
    let (action, content) = (text_of(&answer["action"]), &answer["content"]);
    format!("Elicitation completed: action={action}, content={content}")
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or("none")
}
