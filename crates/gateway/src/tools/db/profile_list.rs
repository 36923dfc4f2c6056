//! `db.profile.list`

use cynode_domain::ids::ProjectId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbProfileList, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbProfileList::NAME,
    title: "List profiles",
    description: "The profiles of a project, by name.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbProfileList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, _arguments: DbProfileList) -> Result<Value, ToolFault> {
    let project = project_of(&context);
    let found = context.services.profiles.list(&context.identity.caller, &project).await?;
    Ok(json!({ "items": to_json(found)? }))
}

/// The project of a call, which the context stage has checked; the caller's default project if it names none.
pub(super) fn project_of(context: &ToolContext) -> NameOrId<ProjectId> {
    match context.call_scope.project {
        Some(project) => project.into(),
        None => NameOrId::Name("default".to_owned()),
    }
}
