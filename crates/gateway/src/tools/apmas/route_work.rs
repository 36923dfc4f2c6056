//! `apmas_route_work`

use cynode_domain::policy::ToolScope;
use cynode_wire::work::RouteWork;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result, text, unit, words};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// A decision about a unit.
pub(crate) const TOOL: Builtin = Builtin {
    name: "apmas_route_work",
    title: "Decide about work",
    description: "Decides about a work unit. approve accepts it, and what comes after it begins; revision sends it back with feedback (text, or a review with verdict, summary and issues), at most twice; resume lets a blocked unit go on; fail gives it up.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "workUnitId", "decision"],
        json!({
            "task_id": id("task"),
            "workUnitId": unit(),
            "decision": words(["approve", "revision", "resume", "fail"]),
            "feedback": { "type": ["string", "object"], "description": "What is to be changed; needed for revision." },
            "notes": text("What whoever goes on should know.", 16384),
        }),
    )
}

fn output() -> Value {
    result(&["work_unit", "repeated", "assigned", "completed", "plan_completed"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let request: RouteWork = read(arguments)?;
    show(context.services.work.route(&context.who.caller, request).await?)
}
