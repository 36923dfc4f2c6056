//! `memory.retrieve`

use cynode_domain::ids::JobId;
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// One note.
pub(crate) const TOOL: Builtin = Builtin {
    name: "memory.retrieve",
    title: "Read a note",
    description: "A note with its text.",
    scope: ToolScope::Sandbox,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "job_id", "key"],
        json!({ "task_id": id("task"), "job_id": id("job"), "key": text("The name of the note.", 200) }),
    )
}

fn output() -> Value {
    result(&["key", "content"])
}

#[derive(Deserialize)]
struct Arguments {
    job_id: JobId,
    key: String,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { job_id, key } = read(arguments)?;
    show(context.services.memory.retrieve(&context.who.caller, job_id, &key).await?)
}
