//! `project_memory.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{ProjectMemoryList, ToolCall as _};
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
    name: ProjectMemoryList::NAME,
    title: "List the project memory",
    description: "The entries of the project memory, newest first.",
    scope: ToolScope::Both,
    side_effect: ToolSideEffect::ReadOnly,
    input: ProjectMemoryList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: ProjectMemoryList) -> Result<Value, ToolFault> {
    let ProjectMemoryList { project_id, profile, kind, page } = arguments;
    let access = profile_access(&context, project_id, profile);
    to_json(context.services.project_memory.list(access, kind, &page).await?)
}
