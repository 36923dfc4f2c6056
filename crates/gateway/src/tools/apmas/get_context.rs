//! `apmas_get_context`

use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::GetContext;
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
    name: GetContext::NAME,
    title: "Read the context",
    description: "The context of the task: the task itself, its agents, messages, files, work units and the last checkpoint. An agent names its agentRole and gets its own messages and units, and every instruction it has not acknowledged.",
    scope: ToolScope::Both,
    side_effect: ToolSideEffect::Mutating,
    input: GetContext::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["instructions", "truncated"])
}

async fn run(context: ToolContext, request: GetContext) -> Result<Value, ToolFault> {
    to_json(context.services.messages.load_context(&context.identity, request).await?)
}
