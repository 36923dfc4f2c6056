//! `db.work_unit.get`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbWorkUnitGet, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbWorkUnitGet::NAME,
    title: "Get a work unit",
    description: "A work unit of a task, by its id, such as impl:auth.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbWorkUnitGet::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["work_unit_id", "status", "type"])
}

async fn run(context: ToolContext, arguments: DbWorkUnitGet) -> Result<Value, ToolFault> {
    let DbWorkUnitGet { task_id, work_unit_id } = arguments;
    to_json(context.services.work.get(&context.identity.caller, task_id, &work_unit_id).await?)
}
