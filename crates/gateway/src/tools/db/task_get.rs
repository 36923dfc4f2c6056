//! `db.task.get`

use cynode_domain::ids::TaskId;
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// One task.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.task.get",
    title: "Get a task",
    description: "A task: what was asked for, where it stands, and what came of it.",
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
    result(&["id", "task_name", "status", "closed"])
}

#[derive(Deserialize)]
struct Arguments {
    task_id: TaskId,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { task_id } = read(arguments)?;
    show(context.services.tasks.get(&context.who.caller, &task_id.to_string()).await?)
}
