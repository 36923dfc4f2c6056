//! Whether a request makes a schedule: its name, its timing and its payload.

use chrono::{DateTime, Utc};
use cynode_domain::ids::ScheduleId;
use cynode_domain::name::Slug;
use cynode_domain::plan::InputMode;
use cynode_domain::schedule::{Payload, Rule, Timing, TimingError, Zone};
use cynode_wire::tasks::CreateTask;
use serde_json::json;

use super::ScheduleError;
use crate::secrets::WithoutSecrets as _;
use crate::tasks::faults;

const MAX_PROMPT_BYTES: usize = 64 * 1024;

/// When a schedule is due, as a request says it. At most one of the three is there.
pub(super) struct When<'a> {
    pub(super) cron: Option<&'a str>,
    pub(super) every_s: Option<u32>,
    pub(super) at: Option<&'a str>,
}

/// A name that is taken for no id.
pub(super) fn name(text: &str) -> Result<String, ScheduleError> {
    let invalid = |fault: String| ScheduleError::Invalid(vec![fault]);
    if text.contains('\0') {
        return Err(invalid("name must not hold NUL characters".to_owned()));
    }
    let slug = Slug::normalise(text).map_err(|error| invalid(format!("name: {error}")))?;
    if slug.as_str().parse::<ScheduleId>().is_ok() {
        return Err(invalid("name looks like an id, and would be taken for one".to_owned()));
    }
    Ok(slug.to_string())
}

/// The zone of that name; UTC without one.
pub(super) fn zone(name: Option<&str>) -> Result<Zone, TimingError> {
    name.map_or(Ok(Zone::UTC), str::parse)
}

/// The timing that a request names, if it names one.
pub(super) fn timing(when: &When<'_>, zone: Zone) -> Result<Option<Timing>, ScheduleError> {
    match (when.cron, when.every_s, when.at) {
        (None, None, None) => Ok(None),
        (Some(cron), None, None) => Ok(Some(Timing::cron(cron)?)),
        (None, Some(seconds), None) => Ok(Some(Timing::every(seconds)?)),
        (None, None, Some(at)) => Ok(Some(Timing::At { at: zone.moment(at)? })),
        (..) => {
            let fault = "name one of cron, every_s and at, and not several of them";
            Err(ScheduleError::Invalid(vec![fault.to_owned()]))
        }
    }
}

/// The first time a rule is due after `now`; a rule that never is, is refused.
pub(super) fn first_due(rule: &Rule, now: DateTime<Utc>) -> Result<DateTime<Utc>, TimingError> {
    rule.next_after(now).ok_or_else(|| match &rule.timing {
        Timing::Cron { expression } => TimingError::Never(expression.clone()),
        Timing::At { at } => TimingError::Passed(rule.zone.told(*at)),
        Timing::Every { seconds } => TimingError::BadInterval(*seconds),
    })
}

/// The payload that a request names, if it names one.
pub(super) fn payload(
    prompt: Option<String>,
    task: Option<CreateTask>,
) -> Result<Option<Payload>, ScheduleError> {
    let (prompt, task) = (prompt.without_secrets(), task.without_secrets());
    let faults = match (&prompt, &task) {
        (None, None) => return Ok(None),
        (Some(text), None) => prompt_faults(text),
        (None, Some(task)) => task_faults(task),
        (Some(_), Some(_)) => vec!["name one of prompt and task, and not both".to_owned()],
    };
    if !faults.is_empty() {
        return Err(ScheduleError::Invalid(faults));
    }
    Ok(match (prompt, task) {
        (Some(text), _) => Some(Payload::Prompt { text }),
        (None, Some(task)) => Some(Payload::Task { request: json!(task) }),
        (None, None) => None,
    })
}

fn prompt_faults(text: &str) -> Vec<String> {
    let mut faults = vec![];
    if text.trim().is_empty() {
        faults.push("prompt is empty: say what is to be done".to_owned());
    }
    if text.len() > MAX_PROMPT_BYTES {
        faults.push(format!("prompt is longer than {MAX_PROMPT_BYTES} bytes"));
    }
    if text.contains('\0') {
        faults.push("prompt must not hold NUL characters".to_owned());
    }
    faults
}

/// What the API refuses of a task, and what makes no sense for one that is made again and again.
fn task_faults(task: &CreateTask) -> Vec<String> {
    let mut faults = faults(task);
    if task.input_mode == InputMode::Prompt {
        faults.push("task needs commands or a script; say prose in prompt".to_owned());
    }
    let unfit = [
        ("project", task.project.is_some()),
        ("idempotency_key", task.idempotency_key.is_some()),
        ("depends_on", !task.depends_on.is_empty()),
        ("attachments", !task.attachments.is_empty()),
    ];
    let unfit = unfit.iter().filter(|(_, is_there)| *is_there);
    faults.extend(unfit.map(|(field, _)| format!("a scheduled task has no {field}: leave it out")));
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(json: serde_json::Value) -> CreateTask {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn the_kind_of_payload_is_told_by_its_field_alone() {
        let commands = task(json!({ "input_mode": "commands", "commands": ["true"] }));

        let prose = payload(Some("run `true`".to_owned()), None).unwrap();
        let named = payload(None, Some(commands)).unwrap();

        assert!(matches!(prose, Some(Payload::Prompt { .. })));
        assert!(matches!(named, Some(Payload::Task { .. })));
    }

    #[test]
    fn a_scheduled_task_with_prose_or_a_key_is_refused_with_every_fault() {
        let prose =
            task(json!({ "prompt": "tidy up", "idempotency_key": "k", "depends_on": ["a"] }));

        let Err(ScheduleError::Invalid(faults)) = payload(None, Some(prose)) else { panic!() };

        assert_eq!(faults.len(), 3, "{faults:#?}");
    }

    #[test]
    fn two_timings_at_once_are_refused() {
        let both = When { cron: Some("* * * * *"), every_s: Some(60), at: None };

        assert!(timing(&both, Zone::UTC).unwrap_err().to_string().contains("one of"));
    }
}
