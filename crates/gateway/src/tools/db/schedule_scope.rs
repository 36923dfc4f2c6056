//! What the tools of schedules share: their arguments, and which schedules a caller reaches.

use cynode_domain::ids::ScheduleId;
use cynode_domain::policy::Principal;
use cynode_domain::schedule::{IfMissed, Overlap};
use cynode_wire::schedules::ScheduleView;
use serde_json::{Value, json};

use crate::tools::schema::{text, words};
use crate::tools::{ToolContext, ToolFault};

/// What a schedule is made of and changed by.
pub(super) fn members() -> Value {
    let if_missed = words(IfMissed::ALL.iter().map(|word| word.as_str()));
    let overlap = words(Overlap::ALL.iter().map(|word| word.as_str()));
    json!({
        "name": text("What it is called; unique in its project.", 200),
        "cron": text("When, as five fields: minute, hour, day of the month, month, day of the week. One of cron, every_s and at.", 200),
        "every_s": { "type": "integer", "minimum": 60, "description": "When, as seconds between two due times." },
        "at": text("When, once: 2026-11-16T03:00:00Z, or 2026-11-16 03:00 as the clocks of time_zone show it.", 60),
        "time_zone": text("The zone of cron and at, such as Europe/Berlin; UTC when absent.", 60),
        "prompt": text("What is to be done, in prose: the project manager makes the tasks when it is due. One of prompt and task.", 65536),
        "task": { "type": "object", "description": "A task as db.task.create takes it, with commands or a script and without project_id: made as it stands." },
        "enabled": { "type": "boolean", "description": "Whether it comes due." },
        "if_missed": if_missed,
        "overlap": overlap,
    })
}

/// A schedule that the caller reaches: the user's own, and of its project where the caller is bound to
/// one. Who has authority over one task has none over any schedule.
pub(super) async fn reach(
    context: &ToolContext,
    schedule: ScheduleId,
) -> Result<ScheduleView, ToolFault> {
    let found = context.services.schedules.get(&context.who.caller, &schedule.to_string()).await?;
    let is_elsewhere = context.setting.project.is_some_and(|project| project != found.project_id);
    if is_elsewhere || has_task_only(context) {
        return Err(ToolFault::not_found(format!("there is no schedule \"{schedule}\"")));
    }
    Ok(found)
}

/// Whether the caller's authority ends with a task: an analyst's always does.
pub(super) fn has_task_only(context: &ToolContext) -> bool {
    context.who.task.is_some() || context.who.agent == Principal::PA
}
