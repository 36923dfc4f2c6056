//! Schedules in a conversation, by rule.

use cynode_domain::name::Slug;
use cynode_wire::page::Page;
use cynode_wire::schedules::ScheduleView;
use serde_json::{Value, json};

use super::desk::Desk;
use super::recurring::Pace;
use super::show;
use crate::AgentError;

/// How much of a command becomes the name of its schedule.
const NAME_CHARS: usize = 40;
/// How many schedules of the same commands get names.
const MAX_NUMBER: u32 = 99;
/// What the person sees of making one.
const DONE: &str = "made a schedule";

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
    let made = made(desk, arguments, &name).await?;
    let name = show::code(&made.name);
    Ok(format!(
        "I made the schedule {name} (id {}): {}. `schedules` lists all of them; `cynork schedule` changes \
         its time or zone, pauses and deletes it.\n",
        made.id,
        due(&made),
    ))
}

/// Makes the schedule; if its name is taken, under a number: in a conversation nobody can choose one.
async fn made(
    desk: &Desk<'_>,
    mut arguments: Value,
    name: &str,
) -> Result<ScheduleView, AgentError> {
    let made = desk.act("db.schedule.create", arguments.clone(), DONE).await;
    let fault = match made {
        Err(fault) if fault.is_conflict() => fault,
        made => return made,
    };
    let page: Page<ScheduleView> = desk.read("db.schedule.list", json!({ "limit": 200 })).await?;
    let is_taken = |name: &str| {
        let slug = Slug::normalise(name).ok();
        slug.is_some_and(|slug| page.items.iter().any(|known| known.name == slug.as_str()))
    };
    let mut numbered = (2..=MAX_NUMBER).map(|number| format!("{name} {number}"));
    // There are other conflicts, which no name resolves.
    let Some(free) = numbered.find(|name| !is_taken(name)).filter(|_| is_taken(name)) else {
        return Err(fault);
    };
    arguments["name"] = free.into();
    desk.act("db.schedule.create", arguments, DONE).await
}

/// The schedules that there are.
pub(super) async fn list(desk: &Desk<'_>) -> Result<String, AgentError> {
    let page: Page<ScheduleView> = desk.read("db.schedule.list", json!({ "limit": 20 })).await?;
    let line = |schedule: &ScheduleView| {
        // With its time, since a time to come may be skipped already.
        let last = schedule.last_run.as_ref().map(|run| {
            let due = run.due_local.replace('T', " ");
            format!(", last {} (due {due})", run.status)
        });
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
