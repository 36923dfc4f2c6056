//! The tools that ask the client: a person, a model, or for its roots.

use serde_json::{Map, Value, json};

use crate::content::said;
use crate::exchange::{Exchange, Inquiry, Question};
use crate::fixture::Fixture;
use crate::message::Fault;

/// Calls the tool, which must be one of these.
pub(super) async fn call(
    fixture: &Fixture,
    exchange: &Exchange,
    name: &str,
) -> Result<Value, Fault> {
    let stateful = |text: &str| Some(fixture.seal.close(name, text));
    match name {
        "test_sampling" => {
            let prompt = argument(exchange, "prompt")?;
            ask(exchange, &[sampling("answer", prompt, 100)], None, model_words).await
        }
        "test_elicitation" => {
            let message = argument(exchange, "message")?;
            let text = |description| json!({ "type": "string", "description": description });
            let fields = json!({
                "username": text("User's response"), "email": text("User's email address"),
            });
            let question = elicitation("answer", message, &fields, &["username", "email"]);
            ask(exchange, &[question], None, person_words).await
        }
        "test_elicitation_sep1034_defaults" => {
            ask(
                exchange,
                &[elicitation("answer", "Please review", &defaults(), &[])],
                None,
                completed,
            )
            .await
        }
        "test_elicitation_sep1330_enums" => {
            ask(
                exchange,
                &[elicitation("answer", "Please choose", &choices(), &[])],
                None,
                completed,
            )
            .await
        }
        "test_missing_capability" => {
            ask(exchange, &[sampling("answer", "Say yes", 10)], None, model_words).await
        }
        "test_streaming_elicitation" | "test_input_required_result_elicitation" => {
            ask(exchange, &[name_question()], None, |answers| {
                format!(
                    "Hello, {}!",
                    answers["user_name"]["content"]["name"].as_str().unwrap_or("you")
                )
            })
            .await
        }
        "test_input_required_result_sampling" => {
            let question = sampling("capital_question", "What is the capital of France?", 100);
            ask(exchange, &[question], None, model_words).await
        }
        "test_input_required_result_list_roots" => {
            ask(exchange, &[roots()], None, |answers| format!("Roots: {}", answers["client_roots"]))
                .await
        }
        "test_input_required_result_request_state"
        | "test_input_required_result_tampered_state" => {
            state_of(fixture, exchange, name)?;
            ask(exchange, &[confirmation()], stateful("asked"), |_| "state-ok".to_owned()).await
        }
        "test_input_required_result_multiple_inputs" => {
            state_of(fixture, exchange, name)?;
            let questions =
                [name_question(), sampling("greeting", "Generate a greeting", 50), roots()];
            ask(exchange, &questions, stateful("asked"), |answers| format!("{answers:?}")).await
        }
        "test_input_required_result_multi_round" => two_rounds(fixture, exchange, name).await,
        "test_input_required_result_capabilities" => {
            let all = [name_question(), sampling("greeting", "Generate a greeting", 50), roots()];
            let can: Vec<_> =
                all.into_iter().filter(|q| exchange.client_can(q.capability())).collect();
            ask(exchange, &can, None, |answers| format!("{} answers", answers.len())).await
        }
        _ => Err(Fault::invalid_params(format!("there is no tool {name}"))),
    }
}

/// Asks, and says what `words` makes of the answers.
async fn ask(
    exchange: &Exchange,
    questions: &[Question],
    state: Option<String>,
    words: impl Fn(&Map<String, Value>) -> String,
) -> Result<Value, Fault> {
    Ok(match exchange.inquire(questions, state).await? {
        Inquiry::Answers(answers) => said(words(&answers)),
        Inquiry::Required(result) => result,
    })
}

/// Asks for a name, then for a colour. What was asked stands in the state that comes back.
async fn two_rounds(fixture: &Fixture, exchange: &Exchange, name: &str) -> Result<Value, Fault> {
    let state = state_of(fixture, exchange, name)?;
    let step = |key, text, field: &str| {
        elicitation(key, text, &json!({ field: { "type": "string" } }), &[field])
    };
    let asked = state.as_deref().and_then(|state| state.strip_prefix("colour of "));
    let person = if let Some(person) = asked {
        person.to_owned()
    } else {
        let first = step("step1", "Step 1: What is your name?", "name");
        match exchange.inquire(&[first], Some(fixture.seal.close(name, "name"))).await? {
            Inquiry::Required(result) => return Ok(result),
            Inquiry::Answers(answers) => {
                answers["step1"]["content"]["name"].as_str().unwrap_or("you").to_owned()
            }
        }
    };
    let second = step("step2", "Step 2: What is your favorite color?", "color");
    let state = Some(fixture.seal.close(name, &format!("colour of {person}")));
    ask(exchange, &[second], state, |answers| {
        format!("{person} likes {}", answers["step2"]["content"]["color"])
    })
    .await
}

/// The state that the client brought back; a changed one is refused.
fn state_of(fixture: &Fixture, exchange: &Exchange, tool: &str) -> Result<Option<String>, Fault> {
    let Some(sealed) = exchange.request.text("requestState") else {
        return Ok(None);
    };
    let state = fixture.seal.open(tool, sealed);
    state.map(Some).ok_or_else(|| Fault::invalid_params("requestState is not what was given out"))
}

fn argument<'a>(exchange: &'a Exchange, name: &str) -> Result<&'a str, Fault> {
    let missing = || Fault::invalid_params(format!("argument {name} is missing"));
    exchange.request.argument(name).ok_or_else(missing)
}

fn elicitation(key: &'static str, message: &str, fields: &Value, required: &[&str]) -> Question {
    let schema = json!({ "type": "object", "properties": fields, "required": required });
    let params = json!({ "message": message, "requestedSchema": schema });
    Question { key, method: "elicitation/create", params }
}

fn name_question() -> Question {
    let fields = json!({ "name": { "type": "string" } });
    elicitation("user_name", "What is your name?", &fields, &["name"])
}

fn confirmation() -> Question {
    elicitation("confirm", "Please confirm", &json!({ "ok": { "type": "boolean" } }), &["ok"])
}

fn sampling(key: &'static str, prompt: &str, max_tokens: u32) -> Question {
    let message = json!({ "role": "user", "content": { "type": "text", "text": prompt } });
    let params = json!({ "messages": [message], "maxTokens": max_tokens });
    Question { key, method: "sampling/createMessage", params }
}

fn roots() -> Question {
    Question { key: "client_roots", method: "roots/list", params: json!({}) }
}

fn defaults() -> Value {
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

fn choices() -> Value {
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

fn model_words(answers: &Map<String, Value>) -> String {
    let text = answers.values().next().and_then(|answer| answer["content"]["text"].as_str());
    format!("LLM response: {}", text.unwrap_or("nothing"))
}

fn person_words(answers: &Map<String, Value>) -> String {
    let answer = &answers["answer"];
    format!("User response: action={}, content={}", words(&answer["action"]), answer["content"])
}

fn completed(answers: &Map<String, Value>) -> String {
    let answer = &answers["answer"];
    let (action, content) = (words(&answer["action"]), &answer["content"]);
    format!("Elicitation completed: action={action}, content={content}")
}

fn words(value: &Value) -> &str {
    value.as_str().unwrap_or("none")
}
