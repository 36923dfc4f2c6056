//! `memory.add`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{MemoryAdd, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: MemoryAdd::NAME,
    title: "Add a note",
    description: "Stores a note until the job ends. Replaces a note with the same key.",
    scope: ToolScope::Sandbox,
    side_effect: ToolSideEffect::Mutating,
    input: MemoryAdd::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["key", "size_bytes"])
}

async fn run(context: ToolContext, arguments: MemoryAdd) -> Result<Value, ToolFault> {
    let MemoryAdd { job_id, note, .. } = arguments;
    to_json(context.services.memory.add(&context.identity.caller, job_id, note).await?)
}
