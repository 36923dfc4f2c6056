//! Schedules in a conversation, by rule.

use cynode_wire::page::Page;
use cynode_wire::schedules::ScheduleView;
use serde_json::json;

use super::desk::Desk;
use super::recurring::Pace;
use super::show;
use crate::AgentError;

/// How much of a command becomes the name of its schedule.
const NAME_CHARS: usize = 40;

/// Has commands run again and again.
pub(super) async fn create(
    desk: &Desk<'_>,
    pace: &Pace,
    commands: &[String],
) -> Result<String, AgentError> {
    let name: String = commands.join(" ").chars().take(NAME_CHARS).collect();
    let task = json!({ "input_mode": "commands", "commands": commands });
    let mut arguments = json!({ "name": name, "task": task });
    match pace {
        Pace::Cron(expression) => arguments["cron"] = expression.as_str().into(),
        Pace::Every(seconds) => arguments["every_s"] = (*seconds).into(),
    }
    let made: ScheduleView = desk.act("db.schedule.create", arguments, "made a schedule").await?;
    let name = show::code(&made.name);
    Ok(format!(
        "I made the schedule {name} (id {}): {}. `schedules` lists all of them; `cynork schedule` changes \
         its time or zone, pauses and deletes it.\n",
        made.id,
        due(&made),
    ))
}

/// The schedules that there are.
pub(super) async fn list(desk: &Desk<'_>) -> Result<String, AgentError> {
    let page: Page<ScheduleView> = desk.read("db.schedule.list", json!({ "limit": 20 })).await?;
    let line = |schedule: &ScheduleView| {
        let last = schedule.last_run.as_ref().map(|run| format!(", last {}", run.status));
        let (name, last) = (show::code(&schedule.name), last.unwrap_or_default());
        format!("{name} is {}, {}{last}", schedule.state, due(schedule))
    };
    let lines: Vec<String> = page.items.iter().map(line).collect();
    Ok(show::list("Schedules, newest first:", &lines, "There is no schedule yet."))
}

fn due(schedule: &ScheduleView) -> String {
    let next = schedule.next_due_local.as_deref().map(|local| local.replace('T', " "));
    next.map_or_else(
        || "not due".to_owned(),
        |next| format!("due next {next} ({})", schedule.time_zone),
    )
}
