//! `db.work_unit.get`

use cynode_domain::ids::TaskId;
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result, unit};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// One unit.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.work_unit.get",
    title: "Get a work unit",
    description: "A work unit of a task, by its id, such as impl:auth.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "work_unit_id"],
        json!({
            "task_id": id("task"),
            "work_unit_id": unit(),
        }),
    )
}

fn output() -> Value {
    result(&["work_unit_id", "status", "type"])
}

#[derive(Deserialize)]
struct Arguments {
    task_id: TaskId,
    work_unit_id: String,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { task_id, work_unit_id } = read(arguments)?;
    show(context.services.work.get(&context.who.caller, task_id, &work_unit_id).await?)
}
