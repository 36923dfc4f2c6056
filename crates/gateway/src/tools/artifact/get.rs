//! `artifact.get`

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::ids::TaskId;
use cynode_domain::policy::ToolScope;
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Encoded and repeated as text, this still fits an answer.
const MAX_BYTES: i64 = 1024 * 1024;

/// A file of a task.
pub(crate) const TOOL: Builtin = Builtin {
    name: "artifact.get",
    title: "Get a file of a task",
    description: "A file of a task with its content, in standard base64.",
    scope: ToolScope::Both,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["task_id", "path"], json!({ "task_id": id("task"), "path": text("The path.", 1024) }))
}

fn output() -> Value {
    result(&["artifact", "content_bytes_base64"])
}

#[derive(Deserialize)]
struct Arguments {
    task_id: TaskId,
    path: String,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { task_id, path } = read(arguments)?;
    let task = task_id.to_string();
    let files = &context.services.artifacts;
    let (artifact, mut content) = files.open(&context.who.caller, &task, &path).await?;
    if artifact.size_bytes > MAX_BYTES {
        let text = format!(
            "the file has {} bytes; this tool gives at most {MAX_BYTES}",
            artifact.size_bytes
        );
        return Err(ToolFault::invalid(text));
    }
    let mut bytes = vec![];
    while let Some(piece) = content.next().await {
        bytes.extend(piece.map_err(|fault| ToolFault::internal(&fault))?);
    }
    Ok(json!({ "artifact": show(artifact)?, "content_bytes_base64": STANDARD.encode(bytes) }))
}
