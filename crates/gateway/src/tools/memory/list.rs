//! `memory.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{MemoryList, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: MemoryList::NAME,
    title: "List notes",
    description: "The notes of the job, by key, without their text.",
    scope: ToolScope::Sandbox,
    side_effect: ToolSideEffect::ReadOnly,
    input: MemoryList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: MemoryList) -> Result<Value, ToolFault> {
    let MemoryList { job_id, page, .. } = arguments;
    to_json(context.services.memory.list(&context.identity.caller, job_id, &page).await?)
}
