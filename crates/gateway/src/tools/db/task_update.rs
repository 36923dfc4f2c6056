//! `db.task.update`

use cynode_domain::ids::TaskId;
use cynode_domain::policy::ToolScope;
use cynode_wire::tasks::UpdateTask;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// What a task is called, and what must be true of its result.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.task.update",
    title: "Change a task",
    description: "Changes the name or the acceptance criteria of an open task. An agent adds criteria and puts prose into the form that a rule checks; it takes away nothing that was asked for. Refused once the result of the last step is being judged.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id"],
        json!({
            "task_id": id("task"),
            "task_name": text("A new name for the task.", 200),
            "acceptance_criteria": { "type": "array", "maxItems": 100, "description": "All criteria from now on." },
            "expected_updated_at": text("The updated_at that the change rests on: refused if the task has changed since.", 64),
        }),
    )
}

fn output() -> Value {
    result(&["id", "task_name", "acceptance_criteria", "updated_at"])
}

async fn run(context: ToolContext, mut arguments: Value) -> Result<Value, ToolFault> {
    let wanted = arguments.as_object_mut().and_then(|object| object.remove("task_id"));
    let task: TaskId = read(wanted.unwrap_or_default())?;
    let request: UpdateTask = read(arguments)?;
    let (caller, voice) = context.speaker();
    let tasks = &context.services.tasks;
    show(tasks.update(caller, &task.to_string(), request, voice).await?)
}
