//! The tools: what there is, and who answers a call.
//!
//! [`list`] is the catalogue; the tools that ask the client something are in [`asking`].

mod asking;
mod catalogue;
mod plain;

use serde_json::Value;

use crate::content;
use crate::exchange::{Era, Exchange};
use crate::fixture::Fixture;
use crate::message::{Fault, Request};

pub(crate) use catalogue::{MIRRORED, list};

/// Tools whose whole answer is known at once.
const AT_ONCE: &[&str] = &[
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

/// Tools that say something before they answer, whatever the era.
const TALKATIVE: &[&str] = &[
    "test_tool_with_logging",
    "test_tool_with_progress",
    "test_logging_tool",
    "test_streaming_elicitation",
    "wait",
];

/// Whether a call is answered with a stream: in a session whatever is not known at once may ask.
pub(crate) fn is_streamed(request: &Request, era: &Era) -> bool {
    let name = request.text("name").unwrap_or_default();
    match era {
        Era::Session(_) => !AT_ONCE.contains(&name),
        Era::Stateless => TALKATIVE.contains(&name),
    }
}

/// Calls a tool.
pub(crate) async fn call(fixture: &Fixture, exchange: &Exchange) -> Result<Value, Fault> {
    let Some(name) = exchange.request.text("name") else {
        return Err(Fault::invalid_params("name is missing"));
    };
    if let Some(result) = plain::call(fixture, exchange, name).await {
        return Ok(result);
    }
    match (asking::call(fixture, exchange, name).await, &exchange.era) {
        // A model that reads the answer learns why; the older era has no error code for it.
        (Err(fault), Era::Session(_)) if fault.is_missing_capability() => {
            Ok(content::failed(fault.message()))
        }
        (outcome, _) => outcome,
    }
}
