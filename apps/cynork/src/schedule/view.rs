//! Renders schedules for people.

use chrono::{DateTime, Utc};
use cynode_wire::page::Page;
use cynode_wire::schedules::{ScheduleRunView, ScheduleView};

use cynode_cli::out::RenderContext;
use cynode_cli::{relative_time, table};

/// Maximum length of a summary in a table.
const SUMMARY_CHARS: usize = 60;

/// One schedule, one property per line. `past` is the newest past run if the newest run is in the future.
pub(super) fn render_schedule(
    schedule: &ScheduleView,
    past: Option<&ScheduleRunView>,
    ctx: RenderContext,
) -> String {
    let (last, ahead) = split_newest_run(schedule, ctx);
    let last = last.or(past);
    let pairs = [
        ("schedule", Some(schedule.name.clone())),
        ("state", Some(schedule.state.clone())),
        ("when", Some(format_timing(schedule))),
        ("next", format_next_due(schedule, ctx)),
        ("does", Some(format_payload(schedule))),
        ("if missed", Some(schedule.if_missed.to_string())),
        ("overlap", Some(schedule.overlap.to_string())),
        (
            "last",
            last.map(|run| {
                relative_time::format_relative(ctx.now, run.due_at) + ": " + &format_outcome(run)
            }),
        ),
        (
            "skips",
            ahead.map(|run| {
                format!("up to {}: {}", format_local(&run.due_local), format_outcome(run))
            }),
        ),
        ("created", Some(relative_time::format_relative(ctx.now, schedule.created_at))),
        ("id", Some(schedule.id.to_string())),
    ];
    table::render_pairs(&pairs, ctx)
}

/// Schedules, one per line; `past` as for [`render_schedule`].
pub(super) fn render_schedules(
    page: &Page<ScheduleView>,
    past: &[Option<ScheduleRunView>],
    ctx: RenderContext,
) -> String {
    let rows = page.items.iter().zip(past).map(|(schedule, past)| {
        vec![
            schedule.name.clone(),
            schedule.state.clone(),
            table::truncate(&format_timing(schedule), 40),
            format_next_due(schedule, ctx).unwrap_or_else(|| "-".to_owned()),
            split_newest_run(schedule, ctx)
                .0
                .or(past.as_ref())
                .map_or_else(|| "-".to_owned(), |run| run.status.to_string()),
        ]
    });
    table::render_table(&["SCHEDULE", "STATE", "WHEN", "NEXT", "LAST"], rows, ctx)
}

/// Splits the newest run: past, or a skipped future time.
fn split_newest_run(
    schedule: &ScheduleView,
    ctx: RenderContext,
) -> (Option<&ScheduleRunView>, Option<&ScheduleRunView>) {
    let run = schedule.last_run.as_ref();
    (run.filter(|run| run.due_at <= ctx.now), run.filter(|run| run.due_at > ctx.now))
}

/// One run, one property per line.
pub(super) fn render_run(run: &ScheduleRunView, ctx: RenderContext) -> String {
    let pairs = [
        (
            "due",
            Some(format!(
                "{}, {}",
                relative_time::format_relative(ctx.now, run.due_at),
                format_local(&run.due_local)
            )),
        ),
        ("status", Some(run.status.to_string())),
        ("what", Some(format_outcome(run)).filter(|_| !run.summary.is_empty())),
        ("id", Some(run.id.to_string())),
    ];
    table::render_pairs(&pairs, ctx)
}

/// Runs, one per line.
pub(super) fn render_runs(page: &Page<ScheduleRunView>, ctx: RenderContext) -> String {
    let rows = page.items.iter().map(|run| {
        let tasks = run.tasks.iter().map(|task| format!("{} ({})", task.name, task.status));
        vec![
            format_local(&run.due_local),
            if run.manual { "manual" } else { "schedule" }.to_owned(),
            run.status.to_string(),
            tasks.collect::<Vec<_>>().join(", "),
            table::truncate(&run.summary, SUMMARY_CHARS),
        ]
    });
    table::render_table(&["DUE", "TRIGGER", "STATUS", "TASKS", "SUMMARY"], rows, ctx)
}

/// Such as `in 3 h, 2026-11-16 03:00 Europe/Berlin`.
fn format_next_due(schedule: &ScheduleView, ctx: RenderContext) -> Option<String> {
    let (at, local_time) = (schedule.next_due_at?, schedule.next_due_local.as_deref()?);
    let zone = &schedule.time_zone;
    Some(format!("{}, {} {zone}", format_ahead(ctx.now, at), format_local(local_time)))
}

fn format_ahead(now: DateTime<Utc>, at: DateTime<Utc>) -> String {
    if at <= now { "now".to_owned() } else { relative_time::format_relative(now, at) }
}

/// A local time to the minute, without offset.
fn format_local(rfc3339: &str) -> String {
    rfc3339.get(..16).unwrap_or(rfc3339).replace('T', " ")
}

fn format_timing(schedule: &ScheduleView) -> String {
    match (&schedule.cron, schedule.every_s, &schedule.at) {
        (Some(cron), ..) => format!("{cron} ({})", schedule.time_zone),
        (None, Some(seconds), _) => format!("every {}", format_interval(seconds)),
        (None, None, Some(_)) => "once".to_owned(),
        (None, None, None) => "?".to_owned(),
    }
}

fn format_interval(seconds: u32) -> String {
    match seconds {
        s if s.is_multiple_of(3600) => format!("{} h", s / 3600),
        s if s.is_multiple_of(60) => format!("{} min", s / 60),
        s => format!("{s} s"),
    }
}

fn format_payload(schedule: &ScheduleView) -> String {
    if let Some(request) = &schedule.request {
        return format!("submits \"{}\"", table::truncate(&request.text, 200));
    }
    match (&schedule.prompt, &schedule.task) {
        (Some(prompt), _) => table::truncate(prompt, 200),
        (None, Some(task)) if task.commands.is_empty() => "runs a script".to_owned(),
        (None, Some(task)) => format!("runs `{}`", table::truncate(&task.commands.join("; "), 200)),
        (None, None) => String::new(),
    }
}

fn format_outcome(run: &ScheduleRunView) -> String {
    let tasks = run.tasks.iter().map(|task| format!("{} is {}", task.name, task.status));
    let parts: Vec<_> = std::iter::once(run.summary.clone()).chain(tasks).collect();
    let parts: Vec<_> = parts.into_iter().filter(|text| !text.is_empty()).collect();
    if parts.is_empty() {
        run.status.to_string()
    } else {
        format!("{}, {}", run.status, parts.join(", "))
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

    fn render_context() -> RenderContext {
        let next: DateTime<Utc> = "2026-11-16T02:00:00Z".parse().unwrap();
        RenderContext { now: next - TimeDelta::hours(3), width: None }
    }

    #[test]
    fn a_schedule_says_when_it_is_due_next_in_words_and_by_its_own_clock() {
        let shown = render_schedule(&view(), None, render_context());

        assert!(shown.contains("in 3 h, 2026-11-16 03:00 Europe/Berlin"), "{shown}");
        insta::assert_snapshot!(shown);
    }

    #[test]
    fn a_time_to_come_that_is_skipped_is_not_shown_as_the_last_one() {
        let before =
            RenderContext { now: render_context().now - TimeDelta::days(1), ..render_context() };

        let shown = render_schedule(&view(), None, before);

        assert!(shown.contains("skips") && !shown.contains("\nlast"), "{shown}");
        assert!(shown.contains("up to 2026-11-15 03:00"), "{shown}");
        let mut past = view().last_run.unwrap();
        past.due_at -= TimeDelta::days(2);
        let shown = render_schedule(&view(), Some(&past), before);
        assert!(shown.contains("skips") && shown.contains("\nlast"), "{shown}");
    }

    #[test]
    fn schedules_and_their_runs_are_listed_with_what_came_of_them() {
        let one = view();
        let of_runs = Page { items: vec![one.last_run.clone().unwrap()], next_cursor: None };
        let of_schedules = Page { items: vec![one], next_cursor: None };

        insta::assert_snapshot!(render_schedules(&of_schedules, &[None], render_context()));
        insta::assert_snapshot!(render_runs(&of_runs, render_context()));
    }
}
