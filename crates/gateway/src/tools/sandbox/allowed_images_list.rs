//! `sandbox.allowed_images.list`

use cynode_domain::policy::ToolScope;
use cynode_ops::sandboxes::IMAGE;
use serde_json::{Value, json};

use crate::tools::schema::{cursor, limit, object, result};
use crate::tools::{Builtin, ToolEffect};

/// The images that sandboxes may have.
pub(crate) const TOOL: Builtin = Builtin {
    name: "sandbox.allowed_images.list",
    title: "List allowed images",
    description: "The images that sandboxes may have. This installation has one, host: the system of the worker node itself, read-only.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |_, _| Box::pin(std::future::ready(Ok(images()))),
};

fn input() -> Value {
    object(&[], json!({ "limit": limit(), "cursor": cursor() }))
}

fn output() -> Value {
    result(&["items"])
}

fn images() -> Value {
    let about = "The system of the worker node itself, read-only.";
    json!({ "items": [{ "image_ref": IMAGE, "description": about }], "next_cursor": null })
}
