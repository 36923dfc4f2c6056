//! `db.task.list`

use cynode_domain::policy::ToolScope;
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
    description: "Tasks of the user, newest first; of one project where the caller is bound to one, and the one task where it is bound to a task.",
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
    if let Some(task) = context.who.task {
        // A token of one task does not even learn the names of others.
        let own = context.services.tasks.get(&context.who.caller, &task.to_string()).await?;
        let is_wanted = status.is_none_or(|status| status == own.status);
        let items = if is_wanted { vec![show(own)?] } else { vec![] };
        return Ok(json!({ "items": items }));
    }
    // The context stage has judged project_id; a bound caller sees its own project only.
    let project = context.setting.project.map(|project| project.to_string());
    let query = TaskQuery { limit, cursor, status, project };
    show(context.services.tasks.list(&context.who.caller, query).await?)
}
