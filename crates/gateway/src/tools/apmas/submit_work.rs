//! `apmas_submit_work`

use cynode_domain::policy::ToolScope;
use cynode_wire::work::SubmitWork;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result, role, text, unit};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Hands in a unit.
pub(crate) const TOOL: Builtin = Builtin {
    name: "apmas_submit_work",
    title: "Hand in work",
    description: "Hands in a work unit of the agent's role: the file that shows it and a summary. It then waits for the project manager's verdict; the agent may go on with other units.",
    scope: ToolScope::Sandbox,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "agentRole", "workUnitId", "artifactPath", "summary"],
        json!({
            "task_id": id("task"),
            "agentRole": role(),
            "workUnitId": unit(),
            "artifactPath": text("A relative path.", 1024),
            "summary": text("What was done.", 16384),
            "metadata": { "type": "object", "description": "Details, such as a reviewer's verdict." },
        }),
    )
}

fn output() -> Value {
    result(&["work_unit", "repeated", "instructions"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let request: SubmitWork = read(arguments)?;
    show(context.services.work.submit(&context.who, request).await?)
}
