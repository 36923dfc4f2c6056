//! `sandbox.allowed_images.list`

use cynode_domain::image_name::HOST_IMAGE;
use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{SandboxAllowedImagesList, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: SandboxAllowedImagesList::NAME,
    title: "List allowed images",
    description: "The images that tasks and sandboxes may use, and the worker nodes that have them. The image host is the system of the worker node itself, read-only.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: SandboxAllowedImagesList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(
    context: ToolContext,
    _arguments: SandboxAllowedImagesList,
) -> Result<Value, ToolFault> {
    let images = context.services.settings.allowed_images().await?;
    let describe = |name: &str| match name {
        HOST_IMAGE => "The system of the worker node itself, read-only.",
        _ => "An image that administrators of worker nodes configured, read-only.",
    };
    let items: Vec<_> = images
        .iter()
        .map(|image| {
            let description = describe(&image.name);
            json!({ "image_ref": image.name, "description": description, "nodes": image.nodes })
        })
        .collect();
    Ok(json!({ "items": items, "next_cursor": null }))
}
