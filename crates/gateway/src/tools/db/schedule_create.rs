//! `db.schedule.create`

use cynode_domain::policy::{ErrorKind, ToolScope};
use cynode_wire::schedules::CreateSchedule;
use serde_json::Value;

use super::schedule_scope::{has_task_only, members};
use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show, without_ids};

/// A new schedule.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.schedule.create",
    title: "Create a schedule",
    description: "Has work come due by the clock: as a cron expression says, at an even pace, or once. What is told in prose the project manager interprets when it is due; a task with commands or a script is made as it stands.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    let mut members = members();
    members["project_id"] = id("project");
    object(&["name"], members)
}

fn output() -> Value {
    result(&["id", "name", "state"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    if has_task_only(&context) {
        let why = "whoever works on one task makes no schedules";
        return Err(ToolFault::new(ErrorKind::Forbidden, why));
    }
    let request: CreateSchedule = read(without_ids(arguments))?;
    // The context stage has judged project_id; a bound caller schedules in its own project.
    let project = context.setting.project.map(|project| project.to_string());
    let request = CreateSchedule { project, ..request };
    show(context.services.schedules.create(&context.who.caller, request).await?)
}
