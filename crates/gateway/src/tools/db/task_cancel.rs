//! `db.task.cancel`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbTaskCancel, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbTaskCancel::NAME,
    title: "Cancel a task",
    description: "Stops a task, its jobs, and open tasks that depend on it. Cannot be undone.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbTaskCancel::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["task_id", "canceled", "cascaded"])
}

async fn run(context: ToolContext, arguments: DbTaskCancel) -> Result<Value, ToolFault> {
    let DbTaskCancel { task_id } = arguments;
    to_json(context.services.tasks.cancel(&context.identity.caller, &task_id.into()).await?)
}
