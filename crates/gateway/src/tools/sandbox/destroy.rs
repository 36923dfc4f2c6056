//! `sandbox.destroy`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{SandboxDestroy, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: SandboxDestroy::NAME,
    title: "Destroy a sandbox",
    description: "Closes a sandbox: its commands are stopped and no more are accepted. The workspace remains with its task.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: SandboxDestroy::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["job_id", "destroyed"])
}

async fn run(context: ToolContext, arguments: SandboxDestroy) -> Result<Value, ToolFault> {
    let sandbox = arguments.0;
    context.services.sandboxes.destroy_sandbox(&context.identity.caller, sandbox).await?;
    Ok(json!({ "job_id": sandbox.job_id, "destroyed": true }))
}
