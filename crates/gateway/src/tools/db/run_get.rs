//! `db.run.get`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbRunGet, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbRunGet::NAME,
    title: "Get a run",
    description: "One execution of the workflow of a task: its status, what it waits for, its open question, and its timestamps.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbRunGet::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "task_id", "status"])
}

async fn run(context: ToolContext, arguments: DbRunGet) -> Result<Value, ToolFault> {
    let DbRunGet { run_id, .. } = arguments;
    to_json(context.services.runs.get_detail(&context.identity.caller, &run_id.into()).await?)
}
