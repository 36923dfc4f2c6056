//! `db.task.update`

use cynode_domain::policy::ToolScope;
use cynode_resources::Actor;
use cynode_wire::tool_calls::{DbTaskUpdate, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbTaskUpdate::NAME,
    title: "Change a task",
    description: "Changes the name or the acceptance criteria of an open task. An agent may add criteria, or rewrite prose into a form that a rule can check; it may not remove what was requested. Rejected once the result of the last step is being verified.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbTaskUpdate::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "task_name", "acceptance_criteria", "updated_at"])
}

async fn run(context: ToolContext, arguments: DbTaskUpdate) -> Result<Value, ToolFault> {
    let DbTaskUpdate { task_id, update } = arguments;
    let Actor { caller, kind } = context.calling_user();
    let tasks = &context.services.tasks;
    to_json(tasks.update(caller, &task_id.into(), update, kind).await?)
}
