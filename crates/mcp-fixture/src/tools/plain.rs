//! The tools that ask nobody.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::content::{self, failed, said};
use crate::exchange::{Exchange, Level};
use crate::fixture::{Change, Fixture};
use crate::resources;

/// Between two messages, so that they do not arrive as one.
const PAUSE: Duration = Duration::from_millis(50);

/// Calls the tool, if it is one of these.
pub(super) async fn call(fixture: &Fixture, exchange: &Exchange, name: &str) -> Option<Value> {
    Some(match name {
        crate::ECHO => echo(fixture, exchange),
        "wait" => wait(exchange).await,
        "test_simple_text" => said("This is a simple text response for testing."),
        "test_image_content" => json!({ "content": [content::image()] }),
        "test_audio_content" => json!({ "content": [content::audio()] }),
        "test_embedded_resource" => json!({ "content": [content::resource(
            "test://embedded-resource", "text/plain", "This is an embedded resource content.",
        )] }),
        "test_multiple_content_types" => json!({ "content": [
            content::text("Multiple content types test:"),
            content::image(),
            content::resource(
                "test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#,
            ),
        ] }),
        "test_error_handling" => failed("This tool intentionally returns an error for testing"),
        "json_schema_2020_12_tool" => said("The arguments were taken."),
        "test_custom_header" => said("The header says the same as the argument."),
        "test_reconnection" => said("The client came back."),
        "test_dynamic_tool" => said("This tool comes and goes."),
        "test_tool_with_logging" => logging(exchange).await,
        "test_logging_tool" => {
            exchange.log(Level::Info, "A message for who asked for it");
            said("Logged.")
        }
        "test_tool_with_progress" => progress(exchange).await,
        "test_trigger_tool_change" => change(fixture, &fixture.extra_tool, Change::Tools),
        "test_trigger_prompt_change" => change(fixture, &fixture.extra_prompt, Change::Prompts),
        "test_trigger_resource_update" => {
            fixture.announce(Change::Resource(resources::WATCHED.to_owned()));
            said("Changed.")
        }
        _ => return None,
    })
}

fn echo(fixture: &Fixture, exchange: &Exchange) -> Value {
    fixture.count_call();
    exchange.request.argument("text").map_or_else(|| failed("text must be a text"), said)
}

async fn wait(exchange: &Exchange) -> Value {
    let ms = exchange.request.params.get("arguments").and_then(|all| all["ms"].as_u64());
    let Some(ms) = ms else {
        return failed("ms must be a number");
    };
    tokio::time::sleep(Duration::from_millis(ms)).await;
    said("Waited.")
}

async fn logging(exchange: &Exchange) -> Value {
    exchange.log(Level::Info, "Tool execution started");
    tokio::time::sleep(PAUSE).await;
    exchange.log(Level::Info, "Tool processing data");
    tokio::time::sleep(PAUSE).await;
    exchange.log(Level::Info, "Tool execution completed");
    said("Logged three times.")
}

async fn progress(exchange: &Exchange) -> Value {
    exchange.progress(0, 100);
    tokio::time::sleep(PAUSE).await;
    exchange.progress(50, 100);
    tokio::time::sleep(PAUSE).await;
    exchange.progress(100, 100);
    said("Done.")
}

fn change(fixture: &Fixture, there: &AtomicBool, change: Change) -> Value {
    there.fetch_xor(true, Ordering::Relaxed);
    fixture.announce(change);
    said("Changed.")
}
