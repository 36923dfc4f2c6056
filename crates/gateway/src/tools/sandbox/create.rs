//! `sandbox.create`

use cynode_domain::policy::ToolScope;
use cynode_ops::sandboxes::OpenSandbox;
use cynode_wire::tool_calls::{SandboxCreate, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: SandboxCreate::NAME,
    title: "Open a sandbox",
    description: "Opens a sandbox on the workspace of an open task, on the task's node; if it has none yet, one is chosen and its steps will run there too. The returned job_id identifies the sandbox.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: SandboxCreate::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["job_id", "task_id", "image_ref", "node_slug", "status"])
}

async fn run(context: ToolContext, arguments: SandboxCreate) -> Result<Value, ToolFault> {
    let SandboxCreate { task_id, job_id, image_ref, node_slug } = arguments;
    let request = OpenSandbox { task: task_id, job: job_id, image: image_ref, node: node_slug };
    to_json(context.services.sandboxes.create(context.calling_user(), request).await?)
}
