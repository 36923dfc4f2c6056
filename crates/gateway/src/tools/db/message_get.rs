//! `db.message.get`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbMessageGet, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbMessageGet::NAME,
    title: "Get a message",
    description: "A message between an agent of a task and the project manager.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbMessageGet::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "task_id", "sender", "recipient", "kind", "content"])
}

async fn run(context: ToolContext, arguments: DbMessageGet) -> Result<Value, ToolFault> {
    let DbMessageGet { task_id, message_id } = arguments;
    to_json(context.services.messages.get(&context.identity.caller, task_id, message_id).await?)
}
