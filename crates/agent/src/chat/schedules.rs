//! Creates and lists schedules by rule.

use cynode_domain::name::Slug;
use cynode_wire::page::{MAX_LIMIT, Page, PageQuery};
use cynode_wire::schedules::{CreateSchedule, ScheduleView};
use cynode_wire::tool_calls::{DbScheduleCreate, DbScheduleList, NewTask};

use super::recurring::RecurringTiming;
use super::render;
use super::reported_tools::ReportedTools;
use crate::HandoffAgentError;

/// The most characters of the commands in the name of their schedule.
const NAME_CHARS: usize = 40;
/// The highest number that is appended to a taken name.
const MAX_NUMBER: u32 = 99;
/// The most schedules in a list.
const SHOWN_SCHEDULES: u32 = 20;
/// The summary of the tool call.
const CREATED_SUMMARY: &str = "created a schedule";

/// Creates a schedule that runs commands.
pub(super) async fn create_schedule(
    tools: &ReportedTools<'_>,
    pace: &RecurringTiming,
    commands: &[String],
) -> Result<String, HandoffAgentError> {
    let name: String = commands.join(" ").chars().take(NAME_CHARS).collect();
    let (cron, every_s) = match pace {
        RecurringTiming::Cron(expression) => (Some(expression.clone()), None),
        RecurringTiming::Every(seconds) => (None, Some(*seconds)),
    };
    let task = Some(Box::new(NewTask::from_commands(commands.to_vec()).into()));
    let schedule = CreateSchedule { name, cron, every_s, task, ..CreateSchedule::default() };
    let made = create_with_free_name(tools, schedule).await?;
    let name = render::inline_code(&made.name);
    Ok(format!(
        "I created the schedule {name} (id {}): {}. `schedules` lists all of them; `cynork schedule` changes \
         its time or zone, pauses and deletes it.\n",
        made.id,
        due_text(&made),
    ))
}

/// Creates the schedule; if its name is taken, appends a number because the user cannot choose a name here.
async fn create_with_free_name(
    tools: &ReportedTools<'_>,
    schedule: CreateSchedule,
) -> Result<ScheduleView, HandoffAgentError> {
    let mut call = DbScheduleCreate { project_id: None, schedule };
    let made = tools.call(&call, CREATED_SUMMARY).await;
    let fault = match made {
        Err(fault) if fault.is_conflict() => fault,
        made => return made,
    };
    let name = call.schedule.name;
    let page = list_page(tools, MAX_LIMIT).await?;
    let is_taken = |name: &str| {
        let slug = Slug::normalise(name).ok();
        slug.is_some_and(|slug| page.items.iter().any(|known| known.name == slug.as_str()))
    };
    let mut numbered = (2..=MAX_NUMBER).map(|number| format!("{name} {number}"));
    // Another name does not resolve other conflicts.
    let Some(free) = numbered.find(|name| !is_taken(name)).filter(|_| is_taken(&name)) else {
        return Err(fault);
    };
    call.schedule.name = free;
    tools.call(&call, CREATED_SUMMARY).await
}

async fn list_page(
    tools: &ReportedTools<'_>,
    limit: u32,
) -> Result<Page<ScheduleView>, HandoffAgentError> {
    let page = PageQuery { limit: Some(limit), cursor: None };
    tools.read(&DbScheduleList { project_id: None, page }).await
}

/// Lists the newest schedules.
pub(super) async fn list_schedules(tools: &ReportedTools<'_>) -> Result<String, HandoffAgentError> {
    let page = list_page(tools, SHOWN_SCHEDULES).await?;
    let line = |schedule: &ScheduleView| {
        // Shows the due time, because a future time may be skipped already.
        let last = schedule.last_run.as_ref().map(|run| {
            let due = run.due_local.replace('T', " ");
            format!(", last {} (due {due})", run.status)
        });
        let (name, last) = (render::inline_code(&schedule.name), last.unwrap_or_default());
        format!("{name} is {}, {}{last}", schedule.state, due_text(schedule))
    };
    let lines: Vec<String> = page.items.iter().map(line).collect();
    Ok(render::bullet_list("Schedules, newest first:", &lines, "There is no schedule yet."))
}

fn due_text(schedule: &ScheduleView) -> String {
    let next = schedule.next_due_local.as_deref().map(|local| local.replace('T', " "));
    next.map_or_else(
        || "not due".to_owned(),
        |next| format!("due next {next} ({})", schedule.time_zone),
    )
}
