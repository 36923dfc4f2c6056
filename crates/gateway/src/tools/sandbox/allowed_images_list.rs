//! `sandbox.allowed_images.list`

use cynode_domain::policy::ToolScope;
use cynode_ops::sandboxes::IMAGE;
use serde_json::{Value, json};

use crate::tools::schema::{cursor, limit, object, result};
use crate::tools::{Builtin, ToolContext, ToolFault};

/// The images that sandboxes may have.
pub(crate) const TOOL: Builtin = Builtin {
    name: "sandbox.allowed_images.list",
    title: "List allowed images",
    description: "The images that sandboxes may have. This installation has one, host: the system of the worker node itself, read-only.",
    scope: ToolScope::Pm,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&[], json!({ "limit": limit(), "cursor": cursor() }))
}

fn output() -> Value {
    result(&["items"])
}

async fn run(_context: ToolContext, _arguments: Value) -> Result<Value, ToolFault> {
    let about = "The system of the worker node itself, read-only.";
    Ok(json!({ "items": [{ "image_ref": IMAGE, "description": about }], "next_cursor": null }))
}
