//! `db.run.history`

use cynode_domain::ids::RunId;
use cynode_domain::policy::ToolScope;
use cynode_wire::page::PageQuery;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{cursor, id, limit, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// How a run went.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.run.history",
    title: "Get the history of a run",
    description: "Every transition of a run from node to node with what it changed, and what people did to the run in between; oldest first.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["run_id"],
        json!({ "run_id": id("run"), "task_id": id("task"), "limit": limit(), "cursor": cursor() }),
    )
}

fn output() -> Value {
    result(&["items"])
}

#[derive(Deserialize)]
struct Arguments {
    run_id: RunId,
    limit: Option<u32>,
    cursor: Option<String>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { run_id, limit, cursor } = read(arguments)?;
    let page = PageQuery { limit, cursor };
    let run = run_id.to_string();
    show(context.services.runs.history(&context.who.caller, &run, &page).await?)
}
