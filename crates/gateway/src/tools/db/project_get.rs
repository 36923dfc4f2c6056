//! `db.project.get`

use cynode_domain::ids::ProjectId;
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// One project.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.project.get",
    title: "Get a project",
    description: "A project, by its id or by its slug: give one of both.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    let members =
        json!({ "project_id": id("project"), "slug": text("The slug of the project.", 200) });
    let mut schema = object(&[], members);
    schema["oneOf"] = json!([{ "required": ["project_id"] }, { "required": ["slug"] }]);
    schema
}

fn output() -> Value {
    result(&["id", "slug", "display_name"])
}

#[derive(Deserialize)]
struct Arguments {
    project_id: Option<ProjectId>,
    slug: Option<String>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { project_id, slug } = read(arguments)?;
    let wanted = project_id.map(|id| id.to_string()).or(slug).unwrap_or_default();
    let project = context.services.projects.get(&context.who.caller, &wanted).await?;
    // A slug is no id: what it names is judged here, as the context stage judges ids.
    if context.who.project.is_some_and(|bound| bound != project.id) {
        return Err(ToolFault::not_found(format!("there is no project \"{wanted}\"")));
    }
    show(project)
}
