//! `memory.add`

use cynode_domain::ids::JobId;
use cynode_domain::policy::ToolScope;
use cynode_wire::memory::AddNote;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// A note.
pub(crate) const TOOL: Builtin = Builtin {
    name: "memory.add",
    title: "Keep a note",
    description: "Keeps a note until the job ends. What had the key before is replaced.",
    scope: ToolScope::Sandbox,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "job_id", "key", "content"],
        json!({
            "task_id": id("task"),
            "job_id": id("job"),
            "key": text("The name of the note.", 200),
            "content": { "type": "string", "maxLength": 65_536, "description": "The note." },
            "summary": text("What it is about, in short.", 1000),
        }),
    )
}

fn output() -> Value {
    result(&["key", "size_bytes"])
}

#[derive(Deserialize)]
struct Arguments {
    job_id: JobId,
    key: String,
    content: String,
    summary: Option<String>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { job_id, key, content, summary } = read(arguments)?;
    let note = AddNote { key, content, summary };
    show(context.services.memory.add(&context.who.caller, job_id, note).await?)
}
