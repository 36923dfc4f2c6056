//! `db.task.get`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbTaskGet, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbTaskGet::NAME,
    title: "Get a task",
    description: "A task: its request, its status and its result.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbTaskGet::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "task_name", "status", "closed"])
}

async fn run(context: ToolContext, arguments: DbTaskGet) -> Result<Value, ToolFault> {
    let DbTaskGet { task_id } = arguments;
    to_json(context.services.tasks.get(&context.identity.caller, &task_id.into()).await?)
}
