//! `db.project.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::page::PageQuery;
use serde_json::{Value, json};

use crate::tools::schema::{cursor, limit, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Projects the caller may see.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.project.list",
    title: "List projects",
    description: "Projects the user may see, newest first.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&[], json!({ "limit": limit(), "cursor": cursor() }))
}

fn output() -> Value {
    result(&["items"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let query: PageQuery = read(arguments)?;
    let caller = &context.who.caller;
    if let Some(bound) = context.who.project {
        let project = context.services.projects.get(caller, &bound.to_string()).await?;
        return Ok(json!({ "items": [show(project)?] }));
    }
    show(context.services.projects.list(caller, &query).await?)
}
