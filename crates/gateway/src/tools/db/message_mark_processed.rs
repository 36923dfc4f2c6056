//! `db.message.mark_processed`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbMessageMarkProcessed, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbMessageMarkProcessed::NAME,
    title: "Mark a message as processed",
    description: "Marks a message as processed by the project manager, so that it is no longer listed as unprocessed. Idempotent.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbMessageMarkProcessed::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "task_id", "sender", "recipient", "kind", "content"])
}

async fn run(context: ToolContext, arguments: DbMessageMarkProcessed) -> Result<Value, ToolFault> {
    let DbMessageMarkProcessed { task_id, message_id } = arguments;
    to_json(
        context
            .services
            .messages
            .mark_processed(&context.identity.caller, task_id, message_id)
            .await?,
    )
}
