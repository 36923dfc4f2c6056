//! `db.schedule.update`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbScheduleUpdate, ToolCall as _};
use serde_json::Value;

use super::schedule_scope::{check_project_repository, load_reachable_schedule};
use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbScheduleUpdate::NAME,
    title: "Change a schedule",
    description: "Changes the given members and leaves the rest; enabled pauses and resumes. A new timing or payload replaces the old one, also one of another kind.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbScheduleUpdate::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "name", "state"])
}

async fn run(context: ToolContext, arguments: DbScheduleUpdate) -> Result<Value, ToolFault> {
    let DbScheduleUpdate { schedule_id, mut update } = arguments;
    load_reachable_schedule(&context, schedule_id).await?;
    if let Some(task) = &update.task {
        check_project_repository(&context, task)?;
    }
    let is_bound = context.identity.project.is_some();
    if let Some(task) = update.task.as_mut().filter(|task| is_bound || task.profile.is_some()) {
        task.profile = context.profile_for_work(task.profile.take()).await?;
    }
    let schedules = &context.services.schedules;
    to_json(schedules.update(&context.identity.caller, &schedule_id.into(), update).await?)
}
