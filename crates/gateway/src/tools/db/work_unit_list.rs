//! `db.work_unit.list`

use cynode_domain::policy::ToolScope;
use serde_json::{Value, json};

use crate::tools::schema::{cursor, id, limit, object, result, text, words};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show, without_ids};

/// How far a plan is.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.work_unit.list",
    title: "List work units",
    description: "How far the plan of a task is: how many units are done, and the units themselves in the order of the plan.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id"],
        json!({
            "task_id": id("task"),
            "filter": words(["all", "pending", "in_progress", "submitted", "completed"]),
            "component": text("Of this component only.", 64),
            "limit": limit(),
            "cursor": cursor(),
        }),
    )
}

fn output() -> Value {
    result(&["task_id", "total_work_units", "completed_work_units", "progress_percent", "items"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let (task, query) = (context.task()?, read(without_ids(arguments))?);
    show(context.services.work.status(&context.who.caller, task, query).await?)
}
