//! `project_memory.get`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{ProjectMemoryGet, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::profile_access::profile_access;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: ProjectMemoryGet::NAME,
    title: "Read an entry of the project memory",
    description: "An entry of the project memory, with its author and its source.",
    scope: ToolScope::Both,
    side_effect: ToolSideEffect::ReadOnly,
    input: ProjectMemoryGet::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "title", "text", "author"])
}

async fn run(context: ToolContext, arguments: ProjectMemoryGet) -> Result<Value, ToolFault> {
    let ProjectMemoryGet { project_id, profile, entry_id } = arguments;
    let access = profile_access(&context, project_id, profile);
    to_json(context.services.project_memory.get(access, entry_id).await?)
}
