//! `db.schedule.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::page::PageQuery;
use cynode_wire::schedules::ScheduleQuery;
use cynode_wire::tool_calls::{DbScheduleList, ToolCall as _};
use serde_json::{Value, json};

use super::schedule_scope::is_limited_to_task;
use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbScheduleList::NAME,
    title: "List schedules",
    description: "Schedules of the user, newest first, with their next due time and last outcome; limited to the project that the caller is bound to.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbScheduleList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: DbScheduleList) -> Result<Value, ToolFault> {
    if is_limited_to_task(&context) {
        return Ok(json!({ "items": [] }));
    }
    let PageQuery { limit, cursor } = arguments.page;
    let project = context.call_scope.project.map(|project| project.to_string());
    let query = ScheduleQuery { limit, cursor, project };
    let (schedules, caller) = (&context.services.schedules, &context.identity.caller);
    to_json(schedules.list_in(caller, &query, context.listed_profiles()).await?)
}
