//! `db.project.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbProjectList, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbProjectList::NAME,
    title: "List projects",
    description: "Projects the user may see, newest first.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbProjectList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: DbProjectList) -> Result<Value, ToolFault> {
    let caller = &context.identity.caller;
    if let Some(bound) = context.identity.project {
        let project = context.services.projects.get_own(caller, &bound.into()).await?;
        return Ok(json!({ "items": [to_json(project)?] }));
    }
    to_json(context.services.projects.list_own(caller, &arguments.0).await?)
}
