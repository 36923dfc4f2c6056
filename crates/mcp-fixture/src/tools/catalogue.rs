//! The tool catalogue with argument schemas.

use std::sync::atomic::Ordering;

use rmcp::model::{JsonObject, Tool};
use rmcp::object;

use crate::fixture::McpFixture;

/// Tools without arguments, and their descriptions.
const WITHOUT_ARGUMENTS: &[(&str, &str)] = &[
    ("test_simple_text", "Gives a text"),
    ("test_image_content", "Gives an image"),
    ("test_audio_content", "Gives a sound"),
    ("test_embedded_resource", "Gives a resource"),
    ("test_multiple_content_types", "Gives a text, an image and a resource"),
    ("test_tool_with_logging", "Logs three times while it runs"),
    ("test_error_handling", "Always fails"),
    ("test_tool_with_progress", "Tells how far it is"),
    ("test_elicitation_sep1034_defaults", "Asks a person, with defaults"),
    ("test_elicitation_sep1330_enums", "Asks a person to choose"),
    ("test_reconnection", "Closes the stream and answers who comes back"),
    ("test_missing_capability", "Needs a client that can sample"),
    ("test_streaming_elicitation", "Asks a person in a stream"),
    ("test_logging_tool", "Logs once"),
    ("test_input_required_result_elicitation", "Asks a person"),
    ("test_input_required_result_sampling", "Asks a model"),
    ("test_input_required_result_list_roots", "Asks for the roots"),
    ("test_input_required_result_request_state", "Asks, and wants its state back"),
    ("test_input_required_result_multiple_inputs", "Asks three things at once"),
    ("test_input_required_result_multi_round", "Asks twice"),
    ("test_input_required_result_tampered_state", "Asks, and refuses a changed state"),
    ("test_input_required_result_capabilities", "Asks only what the client can answer"),
    ("test_trigger_tool_change", "Changes the list of tools"),
    ("test_trigger_prompt_change", "Changes the list of prompts"),
    ("test_trigger_resource_update", "Changes the watched resource"),
];

/// The list of tools.
pub(crate) fn list_tools(fixture: &McpFixture) -> Vec<Tool> {
    let mut tools: Vec<Tool> = WITHOUT_ARGUMENTS
        .iter()
        .map(|(name, description)| Tool::new(*name, *description, no_arguments()))
        .collect();
    tools.extend([
        Tool::new("test_sampling", "Asks a model", one_argument("prompt", "string")),
        Tool::new("test_elicitation", "Asks a person", one_argument("message", "string")),
        Tool::new(crate::ECHO, "Returns its text argument", one_argument("text", "string")),
        Tool::new("wait", "Waits before it answers", one_argument("ms", "integer")),
        Tool::new(
            "json_schema_2020_12_tool",
            "Tool with JSON Schema 2020-12 features",
            full_schema(),
        ),
        Tool::new("test_custom_header", "Wants its argument in a header too", mirrored_argument()),
    ]);
    if fixture.extra_tool.load(Ordering::Relaxed) {
        tools.push(Tool::new("test_dynamic_tool", "Comes and goes", no_arguments()));
    }
    tools
}

fn no_arguments() -> JsonObject {
    object!({ "type": "object", "properties": {} })
}

fn one_argument(name: &str, kind: &str) -> JsonObject {
    object!({
        "type": "object",
        "properties": { name: { "type": kind, "description": "What to use" } },
        "required": [name],
    })
}

/// An argument that the client must mirror in the header `Mcp-Param-Region`.
fn mirrored_argument() -> JsonObject {
    object!({
        "type": "object",
        "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
        "required": ["region"],
    })
}

/// A schema with keywords that must reach the client unchanged.
fn full_schema() -> JsonObject {
    object!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
        } },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}
