//! `db.job.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbJobList, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbJobList::NAME,
    title: "List the jobs of a task",
    description: "Every job of a task, in order of creation.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbJobList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: DbJobList) -> Result<Value, ToolFault> {
    let DbJobList { task_id } = arguments;
    let task = task_id.into();
    let result = context.services.tasks.result(&context.identity.caller, &task).await?;
    Ok(json!({ "items": to_json(result.jobs)? }))
}
