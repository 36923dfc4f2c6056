//! `db.task.logs`

use cynode_domain::ids::TaskId;
use cynode_domain::policy::ToolScope;
use cynode_wire::tasks::LogQuery;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// The output of a task.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.task.logs",
    title: "Get the output of a task",
    description: "The output of every job of a task so far, in the order the jobs ran.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id"],
        json!({
            "task_id": id("task"),
            "stream": { "enum": ["stdout", "stderr", "all"], "description": "Which stream; all when absent." },
        }),
    )
}

fn output() -> Value {
    result(&["task_id", "stdout", "stderr"])
}

#[derive(Deserialize)]
struct Arguments {
    task_id: TaskId,
    stream: Option<String>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { task_id, stream } = read(arguments)?;
    let task = task_id.to_string();
    show(context.services.tasks.logs(&context.who.caller, &task, &LogQuery { stream }).await?)
}
