//! `artifact.put`

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::ids::TaskId;
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Stores a file.
pub(crate) const TOOL: Builtin = Builtin {
    name: "artifact.put",
    title: "Store a file of a task",
    description: "Stores a file of a task at a path, in standard base64. What was at the path before is replaced.",
    scope: ToolScope::Both,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "path", "content_bytes_base64"],
        json!({
            "task_id": id("task"),
            "path": text("A relative path.", 1024),
            "content_bytes_base64": { "type": "string", "description": "The content, in standard base64." },
        }),
    )
}

fn output() -> Value {
    result(&["id", "task_id", "path", "size_bytes", "sha256"])
}

#[derive(Deserialize)]
struct Arguments {
    task_id: TaskId,
    path: String,
    content_bytes_base64: String,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { task_id, path, content_bytes_base64 } = read(arguments)?;
    let bytes = STANDARD
        .decode(content_bytes_base64)
        .map_err(|_| ToolFault::invalid("content_bytes_base64 is no standard base64"))?;
    let task = task_id.to_string();
    let files = &context.services.artifacts;
    show(files.store(&context.who.caller, &task, &path, bytes.into()).await?)
}
