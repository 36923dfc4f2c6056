//! `db.schedule.runs`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbScheduleRuns, ToolCall as _};
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
    name: DbScheduleRuns::NAME,
    title: "List the runs of a schedule",
    description: "The due times of a schedule, newest first, with the outcome and tasks of each.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbScheduleRuns::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: DbScheduleRuns) -> Result<Value, ToolFault> {
    let DbScheduleRuns { schedule_id, page } = arguments;
    load_reachable_schedule(&context, schedule_id).await?;
    let schedules = &context.services.schedules;
    to_json(schedules.runs(&context.identity.caller, &schedule_id.into(), &page).await?)
}
