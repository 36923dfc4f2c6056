//! `db.schedule.delete`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbScheduleDelete, ToolCall as _};
use serde_json::{Value, json};

use super::schedule_scope::load_reachable_schedule;
use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbScheduleDelete::NAME,
    title: "Delete a schedule",
    description: "Deletes a schedule and its run history; tasks that it created remain.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbScheduleDelete::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "deleted"])
}

async fn run(context: ToolContext, arguments: DbScheduleDelete) -> Result<Value, ToolFault> {
    let DbScheduleDelete { schedule_id } = arguments;
    load_reachable_schedule(&context, schedule_id).await?;
    let schedules = &context.services.schedules;
    schedules.delete(&context.identity.caller, &schedule_id.into()).await?;
    Ok(json!({ "id": schedule_id, "deleted": true }))
}
