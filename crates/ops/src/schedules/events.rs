//! What is told about schedules: who changed what, and what came of each due time.

use cynode_domain::schedule::ScheduleRunStatus;
use cynode_runtime::redact::redact_marked;
use cynode_store::{NewEvent, Schedule, ScheduleRun};
use serde_json::{Value, json};

use crate::Caller;
use crate::secrets::{SECRET_MARKER, WithoutSecrets as _};

/// The longest text that is kept of what was done, or why not.
const MAX_CHARS: usize = 2000;

/// A text as it is kept: without secrets, and not too long.
pub(super) fn clean(text: &str) -> String {
    let clean = redact_marked(text, SECRET_MARKER).text;
    clean.chars().filter(|c| *c != '\0').take(MAX_CHARS).collect()
}

/// Somebody did something with a schedule.
pub(super) fn by(schedule: &Schedule, kind: &'static str, caller: &Caller) -> NewEvent {
    let name = &schedule.name;
    event(schedule, kind, json!({ "schedule_id": schedule.id, "name": name, "by": caller.handle }))
}

/// A due time is dealt with.
pub(super) fn ran(
    schedule: &Schedule,
    run: &ScheduleRun,
    status: ScheduleRunStatus,
    summary: &str,
) -> NewEvent {
    let data = json!({
        "schedule_id": schedule.id, "name": schedule.name, "due_at": run.due_at,
        "status": status, "summary": summary,
    });
    event(schedule, "schedule.ran", data)
}

fn event(schedule: &Schedule, kind: &'static str, data: Value) -> NewEvent {
    NewEvent {
        kind,
        owner: Some(schedule.owner),
        project: Some(schedule.project),
        task: None,
        run: None,
        job: None,
        data: data.without_secrets(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_schedules_run_holds_no_secret() {
        let key = format!("sk-proj-{}", "aB3dE5gH7jK9mN1pQ3sT5vW7".repeat(2));

        let kept = clean(&format!("made a task with {key}\0"));

        assert!(kept.starts_with("made a task with ") && kept.ends_with(SECRET_MARKER), "{kept}");
    }
}
