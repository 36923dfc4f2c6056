//! `db.project.create`

use cynode_domain::policy::ToolScope;
use cynode_wire::projects::CreateProject;
use serde_json::{Value, json};

use crate::tools::schema::{object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// A new project.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.project.create",
    title: "Create a project",
    description: "Makes a project; its slug comes from its name, numbered if taken.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["display_name"],
        json!({
            "display_name": text("The name people see.", 100),
            "description": { "type": "string", "maxLength": 65536, "description": "What it is about." },
        }),
    )
}

fn output() -> Value {
    result(&["id", "slug", "display_name"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let request: CreateProject = read(arguments)?;
    show(context.services.projects.create(&context.who.caller, request).await?)
}
