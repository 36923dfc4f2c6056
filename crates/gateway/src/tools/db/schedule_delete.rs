//! `db.schedule.delete`

use cynode_domain::ids::ScheduleId;
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use super::schedule_scope::reach;
use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read};

/// No more schedule.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.schedule.delete",
    title: "Delete a schedule",
    description: "Deletes a schedule and the record of when it came due; tasks that were made for it stay.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["schedule_id"], json!({ "schedule_id": id("schedule") }))
}

fn output() -> Value {
    result(&["id", "deleted"])
}

#[derive(Deserialize)]
struct Arguments {
    schedule_id: ScheduleId,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { schedule_id } = read(arguments)?;
    reach(&context, schedule_id).await?;
    let schedules = &context.services.schedules;
    schedules.delete(&context.who.caller, &schedule_id.to_string()).await?;
    Ok(json!({ "id": schedule_id, "deleted": true }))
}
