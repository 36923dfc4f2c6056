//! `pm.analyst.request`

use cynode_domain::ids::JobId;
use cynode_domain::policy::{ErrorKind, ToolScope};
use cynode_ops::analysts::Requested;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read};

/// Has an analyst verify the result of a job.
pub(crate) const TOOL: Builtin = Builtin {
    name: "pm.analyst.request",
    title: "Request an analyst",
    description: "Has an independent analyst judge the result of a job that ended against the criteria in prose of its task. Its findings appear in db.finding.list. Asked again while it looks, it changes nothing.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["job_id"], json!({ "job_id": id("job"), "task_id": id("task") }))
}

fn output() -> Value {
    result(&["requested"])
}

#[derive(Deserialize)]
struct Arguments {
    job_id: JobId,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { job_id } = read(arguments)?;
    let Some(analysts) = &context.services.analysts else {
        return Err(ToolFault::new(ErrorKind::NotImplemented, "this installation has no analysts"));
    };
    let requested = analysts.request(&context.who.caller, job_id).await?;
    let is_looking = requested == Requested::Already;
    Ok(json!({ "requested": true, "is_looking": is_looking, "job_id": job_id }))
}
