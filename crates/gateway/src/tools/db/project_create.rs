//! `db.project.create`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbProjectCreate, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbProjectCreate::NAME,
    title: "Create a project",
    description: "Creates a project; its slug is derived from its name, with a number if taken.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbProjectCreate::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "slug", "display_name"])
}

async fn run(context: ToolContext, arguments: DbProjectCreate) -> Result<Value, ToolFault> {
    to_json(context.services.projects.create(&context.identity.caller, arguments.0).await?)
}
