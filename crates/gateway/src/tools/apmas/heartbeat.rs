//! `apmas_heartbeat`

use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::Heartbeat;
use cynode_wire::tool_calls::ToolCall as _;
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: Heartbeat::NAME,
    title: "Send a heartbeat",
    description: "Reports that the agent is alive and what it does; send one every five minutes. The reply carries new instructions of the project manager: follow them, and name them in acknowledge next time.",
    scope: ToolScope::Both,
    side_effect: ToolSideEffect::Mutating,
    input: Heartbeat::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["agent_status", "deadline", "instructions"])
}

async fn run(context: ToolContext, request: Heartbeat) -> Result<Value, ToolFault> {
    to_json(context.services.messages.record_heartbeat(&context.identity, request).await?)
}
