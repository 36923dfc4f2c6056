//! `apmas_checkpoint`

use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::SaveAgentCheckpoint;
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
    name: SaveAgentCheckpoint::NAME,
    title: "Save a checkpoint",
    description: "Saves the completed and pending work, so that a successor can continue. Save after every piece of work.",
    scope: ToolScope::Sandbox,
    side_effect: ToolSideEffect::Mutating,
    input: SaveAgentCheckpoint::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["checkpoint_id", "progress", "repeated", "instructions"])
}

async fn run(context: ToolContext, request: SaveAgentCheckpoint) -> Result<Value, ToolFault> {
    to_json(context.services.messages.checkpoint(&context.identity, request).await?)
}
