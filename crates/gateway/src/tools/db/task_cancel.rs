//! `db.task.cancel`

use cynode_domain::ids::TaskId;
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Stops a task.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.task.cancel",
    title: "Cancel a task",
    description: "Stops a task, its jobs, and open tasks that depend on it. Cannot be undone.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["task_id"], json!({ "task_id": id("task") }))
}

fn output() -> Value {
    result(&["task_id", "canceled", "cascaded"])
}

#[derive(Deserialize)]
struct Arguments {
    task_id: TaskId,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { task_id } = read(arguments)?;
    show(context.services.tasks.cancel(&context.who.caller, &task_id.to_string()).await?)
}
