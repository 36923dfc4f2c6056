//! `artifact.list`

use cynode_domain::ids::{JobId, TaskId};
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// The files of a task.
pub(crate) const TOOL: Builtin = Builtin {
    name: "artifact.list",
    title: "List the files of a task",
    description: "Every file of a task: outputs and attachments, without content. With job_id only those that count as evidence about the result of that job: its own, and those of accepted attempts at earlier steps of its run.",
    scope: ToolScope::Both,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["task_id"], json!({ "task_id": id("task"), "job_id": id("job") }))
}

fn output() -> Value {
    result(&["items"])
}

#[derive(Deserialize)]
struct Arguments {
    task_id: TaskId,
    job_id: Option<JobId>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { task_id, job_id } = read(arguments)?;
    let (task, caller) = (task_id.to_string(), &context.who.caller);
    let files = &context.services.artifacts;
    let items = match job_id {
        Some(job) => show(files.list_evidence(caller, &task, job).await?)?,
        None => show(files.list(caller, &task).await?)?,
    };
    Ok(json!({ "items": items }))
}
