//! `project_memory.delete`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{ProjectMemoryDelete, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::profile_access::profile_access;
use crate::tools::schema::result_schema;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: ProjectMemoryDelete::NAME,
    title: "Delete an entry of the project memory",
    description: "Deletes an entry of the project memory. Agents delete only what agents wrote.",
    scope: ToolScope::Both,
    side_effect: ToolSideEffect::Mutating,
    input: ProjectMemoryDelete::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["entry_id", "deleted"])
}

async fn run(context: ToolContext, arguments: ProjectMemoryDelete) -> Result<Value, ToolFault> {
    let ProjectMemoryDelete { project_id, profile, entry_id } = arguments;
    let access = profile_access(&context, project_id, profile);
    context.services.project_memory.delete(access, entry_id).await?;
    Ok(json!({ "entry_id": entry_id, "deleted": true }))
}
