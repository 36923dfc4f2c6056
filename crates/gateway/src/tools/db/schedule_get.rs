//! `db.schedule.get`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbScheduleGet, ToolCall as _};
use serde_json::Value;

use super::schedule_scope::load_reachable_schedule;
use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbScheduleGet::NAME,
    title: "Get a schedule",
    description: "A schedule: its work, its next due time and its last outcome.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbScheduleGet::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "name", "state"])
}

async fn run(context: ToolContext, arguments: DbScheduleGet) -> Result<Value, ToolFault> {
    let DbScheduleGet { schedule_id } = arguments;
    to_json(load_reachable_schedule(&context, schedule_id).await?)
}
