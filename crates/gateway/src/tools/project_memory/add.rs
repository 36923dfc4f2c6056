//! `project_memory.add`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{ProjectMemoryAdd, ToolCall as _};
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
    name: ProjectMemoryAdd::NAME,
    title: "Remember for the project",
    description: "Adds an entry to the memory of the project, which later tasks in the same profile find. What an agent adds is marked as written by a model.",
    scope: ToolScope::Both,
    side_effect: ToolSideEffect::Mutating,
    input: ProjectMemoryAdd::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "kind", "title"])
}

async fn run(context: ToolContext, arguments: ProjectMemoryAdd) -> Result<Value, ToolFault> {
    let ProjectMemoryAdd { project_id, profile, entry } = arguments;
    let access = profile_access(&context, project_id, profile);
    to_json(context.services.project_memory.add(access, entry).await?)
}
