//! `memory.retrieve`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{MemoryRetrieve, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: MemoryRetrieve::NAME,
    title: "Read a note",
    description: "A note with its text.",
    scope: ToolScope::Sandbox,
    side_effect: ToolSideEffect::ReadOnly,
    input: MemoryRetrieve::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["key", "content"])
}

async fn run(context: ToolContext, arguments: MemoryRetrieve) -> Result<Value, ToolFault> {
    let MemoryRetrieve { job_id, key, .. } = arguments;
    to_json(context.services.memory.get_note(&context.identity.caller, job_id, &key).await?)
}
