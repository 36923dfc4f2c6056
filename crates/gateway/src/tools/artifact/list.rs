//! `artifact.list`

use cynode_domain::ids::TaskId;
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// The files of a task.
pub(crate) const TOOL: Builtin = Builtin {
    name: "artifact.list",
    title: "List the files of a task",
    description: "Every file of a task: outputs and attachments, without content.",
    scope: ToolScope::Both,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["task_id"], json!({ "task_id": id("task") }))
}

fn output() -> Value {
    result(&["items"])
}

#[derive(Deserialize)]
struct Arguments {
    task_id: TaskId,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { task_id } = read(arguments)?;
    let task = task_id.to_string();
    let files = context.services.artifacts.list(&context.who.caller, &task).await?;
    Ok(json!({ "items": show(files)? }))
}
