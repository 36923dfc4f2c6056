//! `db.work_unit.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbWorkUnitList, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbWorkUnitList::NAME,
    title: "List work units",
    description: "The progress of a task's plan: how many units are done, and the units in the order of the plan.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbWorkUnitList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&[
        "task_id",
        "total_work_units",
        "completed_work_units",
        "progress_percent",
        "items",
    ])
}

async fn run(context: ToolContext, arguments: DbWorkUnitList) -> Result<Value, ToolFault> {
    let DbWorkUnitList { task_id, query } = arguments;
    to_json(context.services.work.status(&context.identity.caller, task_id, query).await?)
}
