//! Schedules shown to people.

use chrono::{DateTime, Utc};
use cynode_wire::page::Page;
use cynode_wire::schedules::{ScheduleRunView, ScheduleView};

use crate::out::Look;
use crate::{age, table};

/// How much of a summary a table shows.
const SUMMARY_CHARS: usize = 60;

/// One schedule, a property a line. `past` is what came of it last where its newest run is a time to
/// come.
pub(super) fn schedule(
    schedule: &ScheduleView,
    past: Option<&ScheduleRunView>,
    look: Look,
) -> String {
    let (last, ahead) = last_or_ahead(schedule, look);
    let last = last.or(past);
    let pairs = [
        ("schedule", Some(schedule.name.clone())),
        ("state", Some(schedule.state.clone())),
        ("when", Some(when(schedule))),
        ("next", next(schedule, look)),
        ("does", Some(what(schedule))),
        ("if missed", Some(schedule.if_missed.to_string())),
        ("overlap", Some(schedule.overlap.to_string())),
        ("last", last.map(|run| age::ago(look.now, run.due_at) + ": " + &outcome(run))),
        ("skips", ahead.map(|run| format!("up to {}: {}", local(&run.due_local), outcome(run)))),
        ("created", Some(age::ago(look.now, schedule.created_at))),
        ("id", Some(schedule.id.to_string())),
    ];
    table::pairs(&pairs, look)
}

/// Schedules, a line each; `past` as for [`schedule`].
pub(super) fn schedules(
    page: &Page<ScheduleView>,
    past: &[Option<ScheduleRunView>],
    look: Look,
) -> String {
    let rows = page.items.iter().zip(past).map(|(schedule, past)| {
        vec![
            schedule.name.clone(),
            schedule.state.clone(),
            table::short(&when(schedule), 40),
            next(schedule, look).unwrap_or_else(|| "-".to_owned()),
            last_or_ahead(schedule, look)
                .0
                .or(past.as_ref())
                .map_or_else(|| "-".to_owned(), |run| run.status.to_string()),
        ]
    });
    table::rows(&["SCHEDULE", "STATE", "WHEN", "NEXT", "LAST"], rows, look)
}

/// What came of the schedule last; or a time to come that somebody wanted skipped, which is no past.
fn last_or_ahead(
    schedule: &ScheduleView,
    look: Look,
) -> (Option<&ScheduleRunView>, Option<&ScheduleRunView>) {
    let run = schedule.last_run.as_ref();
    (run.filter(|run| run.due_at <= look.now), run.filter(|run| run.due_at > look.now))
}

/// One run, a property a line.
pub(super) fn run(run: &ScheduleRunView, look: Look) -> String {
    let pairs = [
        ("due", Some(format!("{}, {}", age::ago(look.now, run.due_at), local(&run.due_local)))),
        ("status", Some(run.status.to_string())),
        ("what", Some(outcome(run)).filter(|_| !run.summary.is_empty())),
        ("id", Some(run.id.to_string())),
    ];
    table::pairs(&pairs, look)
}

/// Runs, a line each.
pub(super) fn runs(page: &Page<ScheduleRunView>, look: Look) -> String {
    let rows = page.items.iter().map(|run| {
        let tasks = run.tasks.iter().map(|task| format!("{} ({})", task.name, task.status));
        vec![
            local(&run.due_local),
            if run.manual { "by hand" } else { "clock" }.to_owned(),
            run.status.to_string(),
            tasks.collect::<Vec<_>>().join(", "),
            table::short(&run.summary, SUMMARY_CHARS),
        ]
    });
    table::rows(&["DUE", "BY", "STATUS", "TASKS", "WHAT"], rows, look)
}

/// `in 3 h, 2026-11-16 03:00 Europe/Berlin`
fn next(schedule: &ScheduleView, look: Look) -> Option<String> {
    let (at, local_time) = (schedule.next_due_at?, schedule.next_due_local.as_deref()?);
    let zone = &schedule.time_zone;
    Some(format!("{}, {} {zone}", ahead(look.now, at), local(local_time)))
}

fn ahead(now: DateTime<Utc>, at: DateTime<Utc>) -> String {
    if at <= now { "now".to_owned() } else { age::ago(now, at) }
}

/// A time of a zone without what only programs need.
fn local(rfc3339: &str) -> String {
    rfc3339.get(..16).unwrap_or(rfc3339).replace('T', " ")
}

fn when(schedule: &ScheduleView) -> String {
    match (&schedule.cron, schedule.every_s, &schedule.at) {
        (Some(cron), ..) => format!("{cron} ({})", schedule.time_zone),
        (None, Some(seconds), _) => format!("every {}", span(seconds)),
        (None, None, Some(_)) => "once".to_owned(),
        (None, None, None) => "?".to_owned(),
    }
}

fn span(seconds: u32) -> String {
    match seconds {
        s if s.is_multiple_of(3600) => format!("{} h", s / 3600),
        s if s.is_multiple_of(60) => format!("{} min", s / 60),
        s => format!("{s} s"),
    }
}

fn what(schedule: &ScheduleView) -> String {
    match (&schedule.prompt, &schedule.task) {
        (Some(prompt), _) => table::short(prompt, 200),
        (None, Some(task)) if task.commands.is_empty() => "runs a script".to_owned(),
        (None, Some(task)) => format!("runs `{}`", table::short(&task.commands.join("; "), 200)),
        (None, None) => String::new(),
    }
}

fn outcome(run: &ScheduleRunView) -> String {
    let tasks = run.tasks.iter().map(|task| format!("{} is {}", task.name, task.status));
    let told: Vec<_> = std::iter::once(run.summary.clone()).chain(tasks).collect();
    let told: Vec<_> = told.into_iter().filter(|text| !text.is_empty()).collect();
    if told.is_empty() {
        run.status.to_string()
    } else {
        format!("{}, {}", run.status, told.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use serde_json::json;

    use super::*;

    const ID: &str = "0193a4b2-0000-7000-8000-000000000001";

    fn view() -> ScheduleView {
        let run = json!({
            "id": ID, "due_at": "2026-11-15T02:00:00Z", "due_local": "2026-11-15T03:00:00+01:00",
            "manual": false, "status": "done", "summary": "nightly made nightly",
            "tasks": [{ "id": ID, "name": "nightly", "status": "completed" }], "attempts": 1,
            "ended_at": "2026-11-15T02:00:01Z",
        });
        serde_json::from_value(json!({
            "id": ID, "name": "nightly", "owner_id": ID, "project_id": ID, "state": "active",
            "cron": "0 3 * * *", "time_zone": "Europe/Berlin", "prompt": "run `make clean`",
            "enabled": true, "if_missed": "once", "overlap": "skip",
            "next_due_at": "2026-11-16T02:00:00Z", "next_due_local": "2026-11-16T03:00:00+01:00",
            "last_run": run, "created_at": "2026-11-14T00:00:00Z", "updated_at": "2026-11-14T00:00:00Z",
        }))
        .unwrap()
    }

    fn look() -> Look {
        let next: DateTime<Utc> = "2026-11-16T02:00:00Z".parse().unwrap();
        Look { now: next - TimeDelta::hours(3), width: None }
    }

    #[test]
    fn a_schedule_says_when_it_is_due_next_in_words_and_by_its_own_clock() {
        let shown = schedule(&view(), None, look());

        assert!(shown.contains("in 3 h, 2026-11-16 03:00 Europe/Berlin"), "{shown}");
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn a_time_to_come_that_is_skipped_is_not_shown_as_the_last_one() {
        let before = Look { now: look().now - TimeDelta::days(1), ..look() };

        let shown = schedule(&view(), None, before);

        assert!(shown.contains("skips") && !shown.contains("\nlast"), "{shown}");
        assert!(shown.contains("up to 2026-11-15 03:00"), "{shown}");
        let mut past = view().last_run.unwrap();
        past.due_at -= TimeDelta::days(2);
        let shown = schedule(&view(), Some(&past), before);
        assert!(shown.contains("skips") && shown.contains("\nlast"), "{shown}");
    }

    #[test]
    fn schedules_and_their_runs_are_listed_with_what_came_of_them() {
        let one = view();
        let of_runs = Page { items: vec![one.last_run.clone().unwrap()], next_cursor: None };
        let of_schedules = Page { items: vec![one], next_cursor: None };

        insta::assert_snapshot!(schedules(&of_schedules, &[None], look()));
        insta::assert_snapshot!(runs(&of_runs, look()));
    }
}
