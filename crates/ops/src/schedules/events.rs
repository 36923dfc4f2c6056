//! Events of schedules: changes and results of runs.

use cynode_domain::schedule::ScheduleRunStatus;
use cynode_runtime::redact::redact_with_marker;
use cynode_store::{NewEvent, Schedule, ScheduleRun};
use serde_json::{Value, json};

use cynode_resources::Caller;
use cynode_resources::{secrets::RedactSecrets as _, secrets::SECRET_MARKER};

/// Maximum length of a summary.
const MAX_CHARS: usize = 2000;

/// Prepares text for storage: redacted and truncated.
pub(super) fn clean_summary(text: &str) -> String {
    let clean = redact_with_marker(text, SECRET_MARKER).text;
    clean.chars().filter(|c| *c != '\0').take(MAX_CHARS).collect()
}

/// Builds the event of a change by a user.
pub(super) fn change_event(schedule: &Schedule, kind: &'static str, caller: &Caller) -> NewEvent {
    let name = &schedule.name;
    schedule_event(
        schedule,
        kind,
        json!({ "schedule_id": schedule.id, "name": name, "by": caller.handle }),
    )
}

/// Builds the event of an ended run.
pub(super) fn run_ended_event(
    schedule: &Schedule,
    run: &ScheduleRun,
    status: ScheduleRunStatus,
    summary: &str,
) -> NewEvent {
    let data = json!({
        "schedule_id": schedule.id, "name": schedule.name, "due_at": run.due_at,
        "status": status, "summary": summary,
    });
    schedule_event(schedule, "schedule.ran", data)
}

fn schedule_event(schedule: &Schedule, kind: &'static str, data: Value) -> NewEvent {
    NewEvent {
        kind,
        owner: Some(schedule.owner),
        project: Some(schedule.project),
        task: None,
        run: None,
        job: None,
        data: data.redact_secrets(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_schedules_run_holds_no_secret() {
        let key = format!("sk-proj-{}", "aB3dE5gH7jK9mN1pQ3sT5vW7".repeat(2));

        let kept = clean_summary(&format!("made a task with {key}\0"));

        assert!(kept.starts_with("made a task with ") && kept.ends_with(SECRET_MARKER), "{kept}");
    }
}
