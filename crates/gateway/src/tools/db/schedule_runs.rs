//! `db.schedule.runs`

use cynode_domain::ids::ScheduleId;
use cynode_domain::policy::ToolScope;
use cynode_wire::page::PageQuery;
use serde::Deserialize;
use serde_json::{Value, json};

use super::schedule_scope::reach;
use crate::tools::schema::{cursor, id, limit, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// What came of a schedule.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.schedule.runs",
    title: "List the runs of a schedule",
    description: "The times at which a schedule came due, newest first, with what came of each and its tasks.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["schedule_id"],
        json!({ "schedule_id": id("schedule"), "limit": limit(), "cursor": cursor() }),
    )
}

fn output() -> Value {
    result(&["items"])
}

#[derive(Deserialize)]
struct Arguments {
    schedule_id: ScheduleId,
    limit: Option<u32>,
    cursor: Option<String>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { schedule_id, limit, cursor } = read(arguments)?;
    reach(&context, schedule_id).await?;
    let page = PageQuery { limit, cursor };
    let schedules = &context.services.schedules;
    show(schedules.runs(&context.who.caller, &schedule_id.to_string(), &page).await?)
}
