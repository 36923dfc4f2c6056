//! `db.task.logs`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbTaskLogs, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbTaskLogs::NAME,
    title: "Get the output of a task",
    description: "The output of every job of a task so far, in the order the jobs ran.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbTaskLogs::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["task_id", "stdout", "stderr"])
}

async fn run(context: ToolContext, arguments: DbTaskLogs) -> Result<Value, ToolFault> {
    let DbTaskLogs { task_id, query } = arguments;
    let task = task_id.into();
    to_json(context.services.tasks.logs(&context.identity.caller, &task, &query).await?)
}
