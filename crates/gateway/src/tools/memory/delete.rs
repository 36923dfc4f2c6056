//! `memory.delete`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{MemoryDelete, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: MemoryDelete::NAME,
    title: "Delete a note",
    description: "Removes a note of the job.",
    scope: ToolScope::Sandbox,
    side_effect: ToolSideEffect::Mutating,
    input: MemoryDelete::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["key", "deleted"])
}

async fn run(context: ToolContext, arguments: MemoryDelete) -> Result<Value, ToolFault> {
    let MemoryDelete { job_id, key, .. } = arguments;
    context.services.memory.remove(&context.identity.caller, job_id, &key).await?;
    Ok(json!({ "key": key, "deleted": true }))
}
