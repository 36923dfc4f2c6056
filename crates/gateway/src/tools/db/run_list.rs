//! `db.run.list`

use cynode_domain::ids::TaskId;
use cynode_domain::policy::ToolScope;
use cynode_wire::runs::RunQuery;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{cursor, id, limit, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// The runs of a task.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.run.list",
    title: "List the runs of a task",
    description: "Every execution of the workflow of a task, newest first.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["task_id"], json!({ "task_id": id("task"), "limit": limit(), "cursor": cursor() }))
}

fn output() -> Value {
    result(&["items"])
}

#[derive(Deserialize)]
struct Arguments {
    task_id: TaskId,
    limit: Option<u32>,
    cursor: Option<String>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { task_id, limit, cursor } = read(arguments)?;
    let query = RunQuery { limit, cursor, task: Some(task_id.to_string()), ..RunQuery::default() };
    show(context.services.runs.list(&context.who.caller, query).await?)
}
