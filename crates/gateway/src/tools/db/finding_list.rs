//! `db.finding.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbFindingList, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbFindingList::NAME,
    title: "List the findings about a task",
    description: "Findings of the verifications of a task, newest first.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbFindingList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: DbFindingList) -> Result<Value, ToolFault> {
    let DbFindingList { task_id, page } = arguments;
    let task = task_id.into();
    to_json(context.services.findings.list(&context.identity.caller, &task, &page).await?)
}
