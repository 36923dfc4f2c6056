//! `db.task.result`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbTaskResult, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbTaskResult::NAME,
    title: "Get the result of a task",
    description: "The result of a task, job by job, with exit codes and stored output.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbTaskResult::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["task_id", "status", "jobs"])
}

async fn run(context: ToolContext, arguments: DbTaskResult) -> Result<Value, ToolFault> {
    let DbTaskResult { task_id } = arguments;
    to_json(context.services.tasks.result(&context.identity.caller, &task_id.into()).await?)
}
