//! `db.finding.list`

use cynode_domain::ids::TaskId;
use cynode_domain::policy::ToolScope;
use cynode_wire::page::PageQuery;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{cursor, id, limit, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Findings about a task.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.finding.list",
    title: "List the findings about a task",
    description: "What verifications of a task found, newest first.",
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
    let (task, page) = (task_id.to_string(), PageQuery { limit, cursor });
    show(context.services.findings.list(&context.who.caller, &task, &page).await?)
}
