//! `db.finding.get`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbFindingGet, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbFindingGet::NAME,
    title: "Get a finding",
    description: "A finding of a verification of a task.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbFindingGet::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "task_id", "status", "severity", "message"])
}

async fn run(context: ToolContext, arguments: DbFindingGet) -> Result<Value, ToolFault> {
    let DbFindingGet { task_id, finding_id } = arguments;
    let task = task_id.into();
    to_json(context.services.findings.get(&context.identity.caller, &task, finding_id).await?)
}
