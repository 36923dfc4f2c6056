//! `sandbox.allowed_images.add`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{SandboxAllowedImagesAdd, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: SandboxAllowedImagesAdd::NAME,
    title: "Allow an image",
    description: "Allows tasks and sandboxes to use an image, by the name that worker nodes know. Only while the setting agents.project_manager.sandbox.allow_add_to_allowed_images is true.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: SandboxAllowedImagesAdd::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["image_ref", "added"])
}

async fn run(context: ToolContext, arguments: SandboxAllowedImagesAdd) -> Result<Value, ToolFault> {
    let image = arguments.image_ref;
    let settings = &context.services.settings;
    let added = settings.allow_image(&context.identity.caller, &image).await?;
    Ok(json!({ "image_ref": image, "added": added }))
}
