//! `db.project.get`

use cynode_domain::name_or_id::NameOrId;
use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbProjectGet, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbProjectGet::NAME,
    title: "Get a project",
    description: "A project, by its id or by its slug: give one of the two.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbProjectGet::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "slug", "display_name"])
}

async fn run(context: ToolContext, arguments: DbProjectGet) -> Result<Value, ToolFault> {
    let DbProjectGet { project_id, slug } = arguments;
    let wanted = project_id
        .map(NameOrId::Id)
        .or(slug.map(NameOrId::from))
        .ok_or_else(|| ToolFault::invalid("project_id or slug is missing"))?;
    let project = context.services.projects.get_own(&context.identity.caller, &wanted).await?;
    // The context stage checks ids only, so the project of a slug is checked here.
    if context.identity.project.is_some_and(|bound| bound != project.id) {
        return Err(ToolFault::not_found(format!("there is no project \"{wanted}\"")));
    }
    to_json(project)
}
