//! `db.run.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::page::PageQuery;
use cynode_wire::runs::RunQuery;
use cynode_wire::tool_calls::{DbRunList, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbRunList::NAME,
    title: "List the runs of a task",
    description: "Every execution of the workflow of a task, newest first.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbRunList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: DbRunList) -> Result<Value, ToolFault> {
    let DbRunList { task_id, page: PageQuery { limit, cursor } } = arguments;
    let query = RunQuery { limit, cursor, task: Some(task_id.to_string()), ..RunQuery::default() };
    to_json(context.services.runs.list(&context.identity.caller, query).await?)
}
