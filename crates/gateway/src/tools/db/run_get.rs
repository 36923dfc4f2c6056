//! `db.run.get`

use cynode_domain::ids::RunId;
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// One run.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.run.get",
    title: "Get a run",
    description: "One execution of the workflow of a task: where it stands, what it waits for, what it asks, and when it moved.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["run_id"], json!({ "run_id": id("run"), "task_id": id("task") }))
}

fn output() -> Value {
    result(&["id", "task_id", "status"])
}

#[derive(Deserialize)]
struct Arguments {
    run_id: RunId,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { run_id } = read(arguments)?;
    show(context.services.runs.show(&context.who.caller, &run_id.to_string()).await?)
}
