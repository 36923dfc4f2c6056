//! `sandbox.destroy`

use cynode_domain::policy::ToolScope;
use serde_json::{Value, json};

use super::{Place, sandbox};
use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read};

/// Gives a sandbox up.
pub(crate) const TOOL: Builtin = Builtin {
    name: "sandbox.destroy",
    title: "Destroy a sandbox",
    description: "Gives a sandbox up: its commands are stopped and no more are taken. The workspace stays with its task.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["task_id", "job_id"], json!({ "task_id": id("task"), "job_id": sandbox() }))
}

fn output() -> Value {
    result(&["job_id", "destroyed"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let place: Place = read(arguments)?;
    context.services.sandboxes.destroy(&context.who.caller, place.at()).await?;
    Ok(json!({ "job_id": place.job_id, "destroyed": true }))
}
