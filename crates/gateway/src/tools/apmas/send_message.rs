//! `apmas_send_message`

use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::SendMessage;
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
    name: SendMessage::NAME,
    title: "Send a message",
    description: "Sends a message to the project manager; agents cannot message each other.",
    scope: ToolScope::Sandbox,
    side_effect: ToolSideEffect::Mutating,
    input: SendMessage::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["message_id", "repeated", "agent_status", "instructions"])
}

async fn run(context: ToolContext, request: SendMessage) -> Result<Value, ToolFault> {
    to_json(context.services.messages.send(&context.identity, request).await?)
}
