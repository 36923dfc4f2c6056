//! `db.finding.get`

use cynode_domain::ids::{FindingId, TaskId};
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// One finding.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.finding.get",
    title: "Get a finding",
    description: "What a verification of a task found.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "finding_id"],
        json!({ "task_id": id("task"), "finding_id": id("finding") }),
    )
}

fn output() -> Value {
    result(&["id", "task_id", "status", "severity", "message"])
}

#[derive(Deserialize)]
struct Arguments {
    task_id: TaskId,
    finding_id: FindingId,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { task_id, finding_id } = read(arguments)?;
    let task = task_id.to_string();
    show(context.services.findings.get(&context.who.caller, &task, finding_id).await?)
}
