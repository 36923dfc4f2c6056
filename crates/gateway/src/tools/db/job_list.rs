//! `db.job.list`

use cynode_domain::ids::TaskId;
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// The jobs of a task.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.job.list",
    title: "List the jobs of a task",
    description: "Every job of a task, in the order they were made.",
    scope: ToolScope::Pm,
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
    let result = context.services.tasks.result(&context.who.caller, &task).await?;
    Ok(json!({ "items": show(result.jobs)? }))
}
