//! `sandbox.allowed_images.list`

use cynode_domain::policy::ToolScope;
use cynode_ops::sandboxes::IMAGE;
use cynode_wire::tool_calls::{SandboxAllowedImagesList, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolEffect;
use crate::tools::schema::result_schema;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: SandboxAllowedImagesList::NAME,
    title: "List allowed images",
    description: "The images that sandboxes may use. This installation has one, host: the system of the worker node itself, read-only.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input: SandboxAllowedImagesList::input_schema,
    output,
    run: |_, _| Box::pin(std::future::ready(Ok(images()))),
};

fn output() -> Value {
    result_schema(&["items"])
}

fn images() -> Value {
    let about = "The system of the worker node itself, read-only.";
    json!({ "items": [{ "image_ref": IMAGE, "description": about }], "next_cursor": null })
}
