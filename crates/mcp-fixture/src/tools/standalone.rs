//! The tools that send no requests to the client.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{
    CallToolResult, ContentBlock, LoggingLevel, PromptListChangedNotification,
    ResourceUpdatedNotification, ResourceUpdatedNotificationParam, ServerNotification,
    ToolListChangedNotification,
};
use serde_json::Value;

use crate::content::{self, error_result, text_result};
use crate::exchange::FixtureExchange;
use crate::fixture::McpFixture;
use crate::{resources, streamable_http};

/// Delay between two messages, so that they are not coalesced.
const MESSAGE_DELAY: Duration = Duration::from_millis(50);

/// How long a client may take to resume a closed stream.
const RESUME_DELAY: Duration = Duration::from_secs(1);

/// Calls the tool, if it is one of these.
pub(super) async fn call_tool(
    exchange: &FixtureExchange<'_>,
    name: &str,
) -> Option<CallToolResult> {
    let fixture = exchange.fixture;
    Some(match name {
        crate::ECHO => echo(exchange),
        "wait" => wait(exchange).await,
        "test_simple_text" => text_result("This is a simple text response for testing."),
        "test_image_content" => CallToolResult::success(vec![content::image_block()]),
        "test_audio_content" => CallToolResult::success(vec![content::audio_block()]),
        "test_embedded_resource" => CallToolResult::success(vec![content::resource_block(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content.",
        )]),
        "test_multiple_content_types" => CallToolResult::success(vec![
            ContentBlock::text("Multiple content types test:"),
            content::image_block(),
            content::resource_block(
                "test://mixed-content-resource",
                "application/json",
                r#"{"test":"data","value":123}"#,
            ),
        ]),
        "test_error_handling" => {
            error_result("This tool intentionally returns an error for testing")
        }
        "json_schema_2020_12_tool" => text_result("The arguments were taken."),
        "test_custom_header" => text_result("The header says the same as the argument."),
        "test_reconnection" => close_and_wait(exchange).await,
        "test_dynamic_tool" => text_result("This tool comes and goes."),
        "test_tool_with_logging" => logging(exchange).await,
        "test_logging_tool" => {
            exchange.log(LoggingLevel::Info, "A requested log message").await;
            text_result("Logged.")
        }
        "test_tool_with_progress" => progress(exchange).await,
        "test_trigger_tool_change" => {
            let change = ToolListChangedNotification::default();
            toggle_and_notify(fixture, &fixture.extra_tool, change.into())
        }
        "test_trigger_prompt_change" => {
            let change = PromptListChangedNotification::default();
            toggle_and_notify(fixture, &fixture.extra_prompt, change.into())
        }
        "test_trigger_resource_update" => {
            let params = ResourceUpdatedNotificationParam::new(resources::WATCHED);
            fixture.notify_change(ResourceUpdatedNotification::new(params).into());
            text_result("Changed.")
        }
        _ => return None,
    })
}

fn echo(exchange: &FixtureExchange<'_>) -> CallToolResult {
    exchange.fixture.count_call();
    let text = exchange.argument("text").and_then(Value::as_str);
    text.map_or_else(|| error_result("text must be a text"), text_result)
}

async fn wait(exchange: &FixtureExchange<'_>) -> CallToolResult {
    let Some(ms) = exchange.argument("ms").and_then(Value::as_u64) else {
        return error_result("ms must be a number");
    };
    tokio::time::sleep(Duration::from_millis(ms)).await;
    text_result("Waited.")
}

/// Closes the stream before the response, which a client that resumes the stream gets.
async fn close_and_wait(exchange: &FixtureExchange<'_>) -> CallToolResult {
    // The first event has the id to resume from.
    tokio::time::sleep(MESSAGE_DELAY).await;
    streamable_http::close_stream(exchange.context);
    tokio::time::sleep(RESUME_DELAY).await;
    text_result("The client came back.")
}

async fn logging(exchange: &FixtureExchange<'_>) -> CallToolResult {
    exchange.log(LoggingLevel::Info, "Tool execution started").await;
    tokio::time::sleep(MESSAGE_DELAY).await;
    exchange.log(LoggingLevel::Info, "Tool processing data").await;
    tokio::time::sleep(MESSAGE_DELAY).await;
    exchange.log(LoggingLevel::Info, "Tool execution completed").await;
    text_result("Logged three times.")
}

async fn progress(exchange: &FixtureExchange<'_>) -> CallToolResult {
    exchange.progress(0.0, 100.0).await;
    tokio::time::sleep(MESSAGE_DELAY).await;
    exchange.progress(50.0, 100.0).await;
    tokio::time::sleep(MESSAGE_DELAY).await;
    exchange.progress(100.0, 100.0).await;
    text_result("Done.")
}

fn toggle_and_notify(
    fixture: &McpFixture,
    there: &AtomicBool,
    change: ServerNotification,
) -> CallToolResult {
    there.fetch_xor(true, Ordering::Relaxed);
    fixture.notify_change(change);
    text_result("Changed.")
}
