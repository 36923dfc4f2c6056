//! `sandbox.put_file`

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Place, sandbox};
use crate::tools::schema::{id, object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Writes a file.
pub(crate) const TOOL: Builtin = Builtin {
    name: "sandbox.put_file",
    title: "Write a file of a workspace",
    description: "Writes a file of up to 256 KiB to a path of the workspace, in standard base64. Directories are made, and what was there before is replaced as a whole.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "job_id", "path", "content_bytes_base64"],
        json!({
            "task_id": id("task"),
            "job_id": sandbox(),
            "path": text("A relative path in the workspace.", 1024),
            "content_bytes_base64": { "type": "string", "maxLength": 349_528, "description": "The content, in standard base64." },
        }),
    )
}

fn output() -> Value {
    result(&["path", "size_bytes"])
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(flatten)]
    place: Place,
    path: String,
    content_bytes_base64: String,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { place, path, content_bytes_base64 } = read(arguments)?;
    let bytes = STANDARD
        .decode(content_bytes_base64)
        .map_err(|_| ToolFault::invalid("content_bytes_base64 is no standard base64"))?;
    let sandboxes = &context.services.sandboxes;
    show(sandboxes.put_file(context.speaker(), place.at(), &path, &bytes).await?)
}
