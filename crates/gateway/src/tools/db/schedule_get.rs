//! `db.schedule.get`

use cynode_domain::ids::ScheduleId;
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use super::schedule_scope::reach;
use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// One schedule.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.schedule.get",
    title: "Get a schedule",
    description: "A schedule: what it wants done, when it is due next, and what came of it last.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["schedule_id"], json!({ "schedule_id": id("schedule") }))
}

fn output() -> Value {
    result(&["id", "name", "state"])
}

#[derive(Deserialize)]
struct Arguments {
    schedule_id: ScheduleId,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { schedule_id } = read(arguments)?;
    show(reach(&context, schedule_id).await?)
}
