//! `db.task.update_status`

use cynode_domain::ids::TaskId;
use cynode_domain::policy::ToolScope;
use cynode_domain::status::ShownTaskStatus;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Where a task stands.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.task.update_status",
    title: "End a task",
    description: "Ends an open task as failed, canceled or superseded: its jobs are stopped. That a task runs or is completed, only its workflow says.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "status"],
        json!({
            "task_id": id("task"),
            "status": { "enum": ShownTaskStatus::ALL },
            "reason": text("Why, for the summary.", 1000),
        }),
    )
}

fn output() -> Value {
    result(&["id", "status"])
}

#[derive(Deserialize)]
struct Arguments {
    task_id: TaskId,
    status: ShownTaskStatus,
    reason: Option<String>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { task_id, status, reason } = read(arguments)?;
    let (task, tasks) = (task_id.to_string(), &context.services.tasks);
    show(tasks.set_status(&context.who.caller, &task, status, reason.as_deref()).await?)
}
