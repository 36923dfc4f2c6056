//! `db.job.update_status`

use cynode_domain::ids::JobId;
use cynode_domain::policy::ToolScope;
use cynode_domain::status::JobStatus;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Where a job stands.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.job.update_status",
    title: "Cancel a job",
    description: "Cancels a job that is queued or running. Every other status is for its node to report.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["job_id", "status"],
        json!({
            "job_id": id("job"),
            "task_id": id("task"),
            "status": { "enum": JobStatus::ALL },
        }),
    )
}

fn output() -> Value {
    result(&["id", "task_id", "status"])
}

#[derive(Deserialize)]
struct Arguments {
    job_id: JobId,
    status: JobStatus,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { job_id, status } = read(arguments)?;
    show(context.services.tasks.set_job_status(&context.who.caller, job_id, status).await?)
}
