//! `db.schedule.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::schedules::ScheduleQuery;
use serde_json::{Value, json};

use super::schedule_scope::has_task_only;
use crate::tools::schema::{cursor, id, limit, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show, without_ids};

/// Schedules the caller may see.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.schedule.list",
    title: "List schedules",
    description: "Schedules of the user, newest first, with when each is due next and what came of it last; of one project where the caller is bound to one.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&[], json!({ "project_id": id("project"), "limit": limit(), "cursor": cursor() }))
}

fn output() -> Value {
    result(&["items"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    if has_task_only(&context) {
        return Ok(json!({ "items": [] }));
    }
    let query: ScheduleQuery = read(without_ids(arguments))?;
    let project = context.setting.project.map(|project| project.to_string());
    let query = ScheduleQuery { project, ..query };
    show(context.services.schedules.list(&context.who.caller, &query).await?)
}
