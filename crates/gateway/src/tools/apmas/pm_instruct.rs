//! `apmas_pm_instruct`

use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::InstructAgent;
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
    name: InstructAgent::NAME,
    title: "Instruct an agent",
    description: "Queues an instruction for the agent in a role of the task, which receives it with the reply to its next message. pause and abort take effect when the agent has received them.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: InstructAgent::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "recipient", "type", "created_at"])
}

async fn run(context: ToolContext, request: InstructAgent) -> Result<Value, ToolFault> {
    to_json(context.services.messages.send_instruction(&context.identity.caller, request).await?)
}
