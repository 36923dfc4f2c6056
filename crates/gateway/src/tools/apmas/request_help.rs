//! `apmas_request_help`

use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::RequestHelp;
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
    name: RequestHelp::NAME,
    title: "Request help",
    description: "Requests help from the project manager: from a person (the agent then waits), from another agent (targetAgent; the project manager forwards it), a clarification, or a decision.",
    scope: ToolScope::Both,
    side_effect: ToolSideEffect::Mutating,
    input: RequestHelp::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["message_id", "repeated", "agent_status", "instructions"])
}

async fn run(context: ToolContext, request: RequestHelp) -> Result<Value, ToolFault> {
    to_json(context.services.messages.request_help(&context.identity, request).await?)
}
