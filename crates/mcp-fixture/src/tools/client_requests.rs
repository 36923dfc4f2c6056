//! The tools that send requests to the client: elicitation, sampling and roots.

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, InputResponses, SealOptions};
use serde_json::{Value, json};

use crate::content::text_result;
use crate::exchange::{FixtureClientRequest, FixtureClientResponses, FixtureExchange};

/// Renders the responses of the client as the text of a tool result.
type RenderResponses = fn(&InputResponses) -> String;

/// Calls the tool, which must be one of these.
pub(super) async fn call_tool(
    exchange: &FixtureExchange<'_>,
    name: &str,
) -> Result<CallToolResponse, ErrorData> {
    if name == "test_input_required_result_multi_round" {
        return ask_in_two_rounds(exchange, name).await;
    }
    let (requests, render) = list_requests(exchange, name)?;
    let is_stateful = matches!(
        name,
        "test_input_required_result_request_state"
            | "test_input_required_result_tampered_state"
            | "test_input_required_result_multiple_inputs"
    );
    if is_stateful {
        echoed_state(exchange, name)?;
    }
    let state = is_stateful.then(|| seal_state(exchange, name, "asked"));
    request_and_render(exchange, &requests, state, render).await
}

/// The requests that a tool sends, and how it renders the responses.
fn list_requests(
    exchange: &FixtureExchange<'_>,
    name: &str,
) -> Result<(Vec<FixtureClientRequest>, RenderResponses), ErrorData> {
    Ok(match name {
        "test_sampling" => {
            let prompt = exchange.text_argument("prompt")?;
            (vec![sampling_request("answer", prompt, 100)], sampled_text)
        }
        "test_missing_capability" => {
            (vec![sampling_request("answer", "Say yes", 10)], sampled_text)
        }
        "test_input_required_result_sampling" => {
            let prompt = "What is the capital of France?";
            (vec![sampling_request("capital_question", prompt, 100)], sampled_text)
        }
        "test_elicitation" => {
            let message = exchange.text_argument("message")?;
            let text = |description| json!({ "type": "string", "description": description });
            let fields = json!({
                "username": text("User's response"), "email": text("User's email address"),
            });
            let required = ["username", "email"];
            (vec![elicitation_request("answer", message, &fields, &required)], elicited_text)
        }
        "test_elicitation_sep1034_defaults" => (
            vec![elicitation_request("answer", "Please review", &default_fields(), &[])],
            completed,
        ),
        "test_elicitation_sep1330_enums" => {
            (vec![elicitation_request("answer", "Please choose", &choice_fields(), &[])], completed)
        }
        "test_streaming_elicitation" | "test_input_required_result_elicitation" => {
            (vec![name_request()], greeting)
        }
        "test_input_required_result_list_roots" => {
            (vec![roots_request()], |answers| format!("Roots: {}", answers["client_roots"]))
        }
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => {
            (vec![confirmation_request()], |_| "state-ok".to_owned())
        }
        "test_input_required_result_multiple_inputs" => {
            (three_requests(), |answers| format!("{answers:?}"))
        }
        "test_input_required_result_capabilities" => {
            let mut requests = three_requests();
            requests.retain(|request| exchange.client_supports(request.capability()));
            (requests, |answers| format!("{} answers", answers.len()))
        }
        _ => return Err(ErrorData::invalid_params(format!("there is no tool {name}"), None)),
    })
}

/// Sends the requests and renders the responses.
async fn request_and_render(
    exchange: &FixtureExchange<'_>,
    requests: &[FixtureClientRequest],
    state: Option<String>,
    render: impl Fn(&InputResponses) -> String,
) -> Result<CallToolResponse, ErrorData> {
    Ok(match exchange.request_client(requests, state).await? {
        FixtureClientResponses::Answers(answers) => text_result(render(&answers)).into(),
        FixtureClientResponses::Required(result) => result.into(),
    })
}

/// Asks for a name, then for a colour. The round is stored in the echoed state.
async fn ask_in_two_rounds(
    exchange: &FixtureExchange<'_>,
    name: &str,
) -> Result<CallToolResponse, ErrorData> {
    let state = echoed_state(exchange, name)?;
    let step = |key, text, field: &str| {
        elicitation_request(key, text, &json!({ field: { "type": "string" } }), &[field])
    };
    let named = state.as_deref().and_then(|state| state.strip_prefix("colour of "));
    let person = if let Some(person) = named {
        person.to_owned()
    } else {
        let first = step("step1", "Step 1: What is your name?", "name");
        match exchange.request_client(&[first], Some(seal_state(exchange, name, "name"))).await? {
            FixtureClientResponses::Required(result) => return Ok(result.into()),
            FixtureClientResponses::Answers(answers) => {
                answers["step1"]["content"]["name"].as_str().unwrap_or("you").to_owned()
            }
        }
    };
    let second = step("step2", "Step 2: What is your favorite color?", "color");
    let state = Some(seal_state(exchange, name, &format!("colour of {person}")));
    request_and_render(exchange, &[second], state, |answers| {
        format!("{person} likes {}", answers["step2"]["content"]["color"])
    })
    .await
}

/// Authenticates state for the client to echo to the same tool.
fn seal_state(exchange: &FixtureExchange<'_>, tool: &str, text: &str) -> String {
    let options = SealOptions::new().associated_data(tool.as_bytes());
    exchange.fixture.request_states.seal_with(text.as_bytes(), &options)
}

/// The state echoed by the client; rejects a modified one.
fn echoed_state(exchange: &FixtureExchange<'_>, tool: &str) -> Result<Option<String>, ErrorData> {
    let Some(sealed) = exchange.request_state else {
        return Ok(None);
    };
    let state = exchange.fixture.request_states.open_with(sealed, tool.as_bytes());
    let state = state.ok().and_then(|state| String::from_utf8(state).ok());
    let changed = || ErrorData::invalid_params("requestState is not what was given out", None);
    state.map(Some).ok_or_else(changed)
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
    let fields = json!({ "ok": { "type": "boolean" } });
    elicitation_request("confirm", "Please confirm", &fields, &["ok"])
}

fn sampling_request(key: &'static str, prompt: &str, max_tokens: u32) -> FixtureClientRequest {
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    let params = json!({ "messages": [message], "maxTokens": max_tokens });
    FixtureClientRequest { key, method: "sampling/createMessage", params }
}

fn roots_request() -> FixtureClientRequest {
    FixtureClientRequest { key: "client_roots", method: "roots/list", params: json!({}) }
}

/// One request of each kind.
fn three_requests() -> Vec<FixtureClientRequest> {
    let greeting = sampling_request("greeting", "Generate a greeting", 50);
    vec![name_request(), greeting, roots_request()]
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

fn greeting(answers: &InputResponses) -> String {
    let name = answers["user_name"]["content"]["name"].as_str();
    format!("Hello, {}!", name.unwrap_or("you"))
}

fn sampled_text(answers: &InputResponses) -> String {
    let text = answers.values().next().and_then(|answer| answer["content"]["text"].as_str());
    format!("LLM response: {}", text.unwrap_or("nothing"))
}

fn elicited_text(answers: &InputResponses) -> String {
    let answer = &answers["answer"];
    format!("User response: action={}, content={}", text_of(&answer["action"]), answer["content"])
}

fn completed(answers: &InputResponses) -> String {
    let answer = &answers["answer"];
    let (action, content) = (text_of(&answer["action"]), &answer["content"]);
    format!("Elicitation completed: action={action}, content={content}")
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or("none")
}
