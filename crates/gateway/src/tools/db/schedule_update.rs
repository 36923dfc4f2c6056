//! `db.schedule.update`

use cynode_domain::ids::ScheduleId;
use cynode_domain::policy::ToolScope;
use cynode_wire::schedules::UpdateSchedule;
use serde::Deserialize;
use serde_json::Value;

use super::schedule_scope::{members, reach};
use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Changes a schedule.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.schedule.update",
    title: "Change a schedule",
    description: "Changes what is named and leaves the rest; enabled pauses and resumes. A new timing or payload takes the place of the old one, of whatever kind.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    let mut members = members();
    members["schedule_id"] = id("schedule");
    object(&["schedule_id"], members)
}

fn output() -> Value {
    result(&["id", "name", "state"])
}

#[derive(Deserialize)]
struct Arguments {
    schedule_id: ScheduleId,
}

async fn run(context: ToolContext, mut arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { schedule_id } = read(arguments.clone())?;
    if let Some(members) = arguments.as_object_mut() {
        members.remove("schedule_id");
    }
    let request: UpdateSchedule = read(arguments)?;
    reach(&context, schedule_id).await?;
    let schedules = &context.services.schedules;
    show(schedules.update(&context.who.caller, &schedule_id.to_string(), request).await?)
}
