//! The tools: listing and dispatch of calls.
//!
//! [`list_tools`] is the catalogue; the tools that send requests to the client are in [`client_requests`].

mod catalogue;
mod client_requests;
mod standalone;

use serde_json::Value;

use crate::content;
use crate::exchange::{FixtureEra, FixtureExchange};
use crate::fixture::McpFixture;
use crate::message::{FixtureRequest, FixtureRpcError};

pub(crate) use catalogue::{MIRRORED, list_tools};

/// Tools that respond at once.
const IMMEDIATE_TOOLS: &[&str] = &[
    crate::ECHO,
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_custom_header",
    "json_schema_2020_12_tool",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_trigger_resource_update",
    "test_dynamic_tool",
];

/// Tools that send notifications before the response, in both eras.
const NOTIFYING_TOOLS: &[&str] = &[
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_logging_tool",
    "test_streaming_elicitation",
    "wait",
];

/// Whether a call is answered with a stream: in a session, any tool that may send requests to the client.
pub(crate) fn is_streamed(request: &FixtureRequest, era: &FixtureEra) -> bool {
    let name = request.text("name").unwrap_or_default();
    match era {
        FixtureEra::Session(_) => !IMMEDIATE_TOOLS.contains(&name),
        FixtureEra::Stateless => NOTIFYING_TOOLS.contains(&name),
    }
}

/// Calls a tool.
pub(crate) async fn call_tool(
    fixture: &McpFixture,
    exchange: &FixtureExchange,
) -> Result<Value, FixtureRpcError> {
    let Some(name) = exchange.request.text("name") else {
        return Err(FixtureRpcError::invalid_params("name is missing"));
    };
    if let Some(result) = standalone::call_tool(fixture, exchange, name).await {
        return Ok(result);
    }
    match (client_requests::call_tool(fixture, exchange, name).await, &exchange.era) {
        // Reported as a tool result, because the older era has no error code for it.
        (Err(fault), FixtureEra::Session(_)) if fault.is_missing_capability() => {
            Ok(content::error_result(fault.message()))
        }
        (outcome, _) => outcome,
    }
}
