//! `memory.list`

use cynode_domain::ids::JobId;
use cynode_domain::policy::ToolScope;
use cynode_wire::page::PageQuery;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{cursor, id, limit, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// The notes of a job.
pub(crate) const TOOL: Builtin = Builtin {
    name: "memory.list",
    title: "List notes",
    description: "The notes of the job, by key, without their text.",
    scope: ToolScope::Sandbox,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "job_id"],
        json!({ "task_id": id("task"), "job_id": id("job"), "limit": limit(), "cursor": cursor() }),
    )
}

fn output() -> Value {
    result(&["items"])
}

#[derive(Deserialize)]
struct Arguments {
    job_id: JobId,
    limit: Option<u32>,
    cursor: Option<String>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { job_id, limit, cursor } = read(arguments)?;
    let page = PageQuery { limit, cursor };
    show(context.services.memory.list(&context.who.caller, job_id, &page).await?)
}
