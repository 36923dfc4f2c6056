//! `sandbox.stream_logs`

use cynode_domain::policy::ToolScope;
use cynode_ops::sandboxes::SandboxLogRequest;
use cynode_wire::jobs::Stream;
use cynode_wire::tool_calls::{SandboxIds, SandboxStreamLogs, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: SandboxStreamLogs::NAME,
    title: "Read the output of a command",
    description: "The output of a sandbox command from an offset, also while it runs. Call again with next_offset until ended is true.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: SandboxStreamLogs::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["exec_id", "text", "next_offset", "ended"])
}

async fn run(context: ToolContext, arguments: SandboxStreamLogs) -> Result<Value, ToolFault> {
    let SandboxStreamLogs { sandbox, exec_id, stream, offset } = arguments;
    let SandboxIds { task_id: task, job_id: sandbox } = sandbox;
    let stream = stream.unwrap_or(Stream::Stdout);
    let request = SandboxLogRequest { task, sandbox, exec: exec_id, stream, offset };
    to_json(context.services.sandboxes.logs(&context.identity.caller, request).await?)
}
