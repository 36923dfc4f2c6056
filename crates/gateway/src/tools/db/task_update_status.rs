//! `db.task.update_status`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbTaskUpdateStatus, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbTaskUpdateStatus::NAME,
    title: "End a task",
    description: "Ends an open task as failed, canceled or superseded, and stops its jobs. Only the workflow sets a task running or completed.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbTaskUpdateStatus::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "status"])
}

async fn run(context: ToolContext, arguments: DbTaskUpdateStatus) -> Result<Value, ToolFault> {
    let DbTaskUpdateStatus { task_id, status, reason } = arguments;
    let (task, tasks) = (task_id.into(), &context.services.tasks);
    to_json(tasks.set_status(&context.identity.caller, &task, status, reason.as_deref()).await?)
}
