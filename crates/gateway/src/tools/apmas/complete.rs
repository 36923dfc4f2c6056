//! `apmas_complete`

use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::CompleteAgent;
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
    name: CompleteAgent::NAME,
    title: "Finish",
    description: "Ends the agent with a summary and its files. After this it sends nothing more on this task.",
    scope: ToolScope::Sandbox,
    side_effect: ToolSideEffect::Mutating,
    input: CompleteAgent::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["message_id", "repeated", "agent_status", "elapsed_seconds"])
}

async fn run(context: ToolContext, request: CompleteAgent) -> Result<Value, ToolFault> {
    to_json(context.services.messages.complete(&context.identity, request).await?)
}
