//! `db.job.get`

use cynode_domain::ids::JobId;
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// One job.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.job.get",
    title: "Get a job",
    description: "A job: the step of a task it is, the node it ran on, and what came of it.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["job_id"], json!({ "job_id": id("job"), "task_id": id("task") }))
}

fn output() -> Value {
    result(&["id", "task_id", "status"])
}

#[derive(Deserialize)]
struct Arguments {
    job_id: JobId,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { job_id } = read(arguments)?;
    show(context.services.tasks.job(&context.who.caller, job_id).await?)
}
