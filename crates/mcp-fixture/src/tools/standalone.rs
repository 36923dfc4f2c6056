//! The tools that send no requests to the client.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::content::{self, error_result, text_result};
use crate::exchange::{FixtureExchange, FixtureLogLevel};
use crate::fixture::{FixtureChange, McpFixture};
use crate::resources;

/// Delay between two messages, so that they are not coalesced.
const MESSAGE_DELAY: Duration = Duration::from_millis(50);

/// Calls the tool, if it is one of these.
pub(super) async fn call_tool(
    fixture: &McpFixture,
    exchange: &FixtureExchange,
    name: &str,
) -> Option<Value> {
    Some(match name {
        crate::ECHO => echo(fixture, exchange),
        "wait" => wait(exchange).await,
        "test_simple_text" => text_result("This is a simple text response for testing."),
        "test_image_content" => json!({ "content": [content::image_block()] }),
        "test_audio_content" => json!({ "content": [content::audio_block()] }),
        "test_embedded_resource" => json!({ "content": [content::resource_block(
            "test://embedded-resource", "text/plain", "This is an embedded resource content.",
        )] }),
        "test_multiple_content_types" => json!({ "content": [
            content::text_block("Multiple content types test:"),
            content::image_block(),
            content::resource_block(
                "test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#,
            ),
        ] }),
        "test_error_handling" => {
            error_result("This tool intentionally returns an error for testing")
        }
        "json_schema_2020_12_tool" => text_result("The arguments were taken."),
        "test_custom_header" => text_result("The header says the same as the argument."),
        "test_reconnection" => text_result("The client came back."),
        "test_dynamic_tool" => text_result("This tool comes and goes."),
        "test_tool_with_logging" => logging(exchange).await,
        "test_logging_tool" => {
            exchange.log(FixtureLogLevel::Info, "A requested log message");
            text_result("Logged.")
        }
        "test_tool_with_progress" => progress(exchange).await,
        "test_trigger_tool_change" => {
            toggle_and_notify(fixture, &fixture.extra_tool, FixtureChange::Tools)
        }
        "test_trigger_prompt_change" => {
            toggle_and_notify(fixture, &fixture.extra_prompt, FixtureChange::Prompts)
        }
        "test_trigger_resource_update" => {
            fixture.notify_change(FixtureChange::Resource(resources::WATCHED.to_owned()));
            text_result("Changed.")
        }
        _ => return None,
    })
}

fn echo(fixture: &McpFixture, exchange: &FixtureExchange) -> Value {
    fixture.count_call();
    exchange
        .request
        .argument("text")
        .map_or_else(|| error_result("text must be a text"), text_result)
}

async fn wait(exchange: &FixtureExchange) -> Value {
    let ms = exchange.request.params.get("arguments").and_then(|all| all["ms"].as_u64());
    let Some(ms) = ms else {
        return error_result("ms must be a number");
    };
    tokio::time::sleep(Duration::from_millis(ms)).await;
    text_result("Waited.")
}

async fn logging(exchange: &FixtureExchange) -> Value {
    exchange.log(FixtureLogLevel::Info, "Tool execution started");
    tokio::time::sleep(MESSAGE_DELAY).await;
    exchange.log(FixtureLogLevel::Info, "Tool processing data");
    tokio::time::sleep(MESSAGE_DELAY).await;
    exchange.log(FixtureLogLevel::Info, "Tool execution completed");
    text_result("Logged three times.")
}

async fn progress(exchange: &FixtureExchange) -> Value {
    exchange.progress(0, 100);
    tokio::time::sleep(MESSAGE_DELAY).await;
    exchange.progress(50, 100);
    tokio::time::sleep(MESSAGE_DELAY).await;
    exchange.progress(100, 100);
    text_result("Done.")
}

fn toggle_and_notify(fixture: &McpFixture, there: &AtomicBool, change: FixtureChange) -> Value {
    there.fetch_xor(true, Ordering::Relaxed);
    fixture.notify_change(change);
    text_result("Changed.")
}
