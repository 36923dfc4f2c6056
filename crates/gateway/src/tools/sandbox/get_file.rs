//! `sandbox.get_file`

use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Place, sandbox};
use crate::tools::schema::{id, object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Reads a file.
pub(crate) const TOOL: Builtin = Builtin {
    name: "sandbox.get_file",
    title: "Read a file of a workspace",
    description: "Reads a file of up to 256 KiB at a path of the workspace, in standard base64.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "job_id", "path"],
        json!({
            "task_id": id("task"),
            "job_id": sandbox(),
            "path": text("A relative path in the workspace.", 1024),
        }),
    )
}

fn output() -> Value {
    result(&["path", "size_bytes", "content_bytes_base64"])
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(flatten)]
    place: Place,
    path: String,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { place, path } = read(arguments)?;
    show(context.services.sandboxes.get_file(context.speaker(), place.at(), &path).await?)
}
