//! `db.task.list`

use cynode_domain::policy::{Principal, ToolScope};
use cynode_domain::status::ShownTaskStatus;
use cynode_wire::tasks::TaskQuery;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{cursor, id, limit, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Tasks the caller may see.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.task.list",
    title: "List tasks",
    description: "Tasks of the user, newest first; of one project where the caller is bound to one.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &[],
        json!({
            "project_id": id("project"),
            "status": { "enum": ShownTaskStatus::ALL },
            "limit": limit(),
            "cursor": cursor(),
        }),
    )
}

fn output() -> Value {
    result(&["items"])
}

#[derive(Deserialize)]
struct Arguments {
    status: Option<ShownTaskStatus>,
    limit: Option<u32>,
    cursor: Option<String>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { status, limit, cursor } = read(arguments)?;
    if let (Principal::PA, Some(task)) = (context.who.agent, context.who.task) {
        // An analyst has authority over one task: of others it does not even learn the names.
        let own = context.services.tasks.get(&context.who.caller, &task.to_string()).await?;
        return Ok(json!({ "items": [show(own)?] }));
    }
    // The context stage has judged project_id; a bound caller sees its own project only.
    let project = context.setting.project.map(|project| project.to_string());
    let query = TaskQuery { limit, cursor, status, project };
    show(context.services.tasks.list(&context.who.caller, query).await?)
}
