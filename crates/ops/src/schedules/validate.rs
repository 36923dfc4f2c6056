//! Validates the name, timing and payload of a schedule.

use chrono::{DateTime, Utc};
use cynode_domain::ids::ScheduleId;
use cynode_domain::name::Slug;
use cynode_domain::plan::InputMode;
use cynode_domain::schedule::{
    SchedulePayload, ScheduleRule, ScheduleTiming, ScheduleZone, TimingError,
};
use cynode_wire::requests::SubmitRequest;
use cynode_wire::schedules::MAX_PROMPT_BYTES;
use cynode_wire::tasks::CreateTask;
use serde_json::json;

use super::ScheduleError;
use cynode_execution::tasks::validate_task_request;
use cynode_resources::secrets::RedactSecrets as _;

/// The timing fields of a request; at most one may be set.
pub(super) struct TimingFields<'a> {
    pub(super) cron: Option<&'a str>,
    pub(super) every_s: Option<u32>,
    pub(super) at: Option<&'a str>,
}

/// Validates a name; it must not look like an id.
pub(super) fn validate_name(text: &str) -> Result<String, ScheduleError> {
    let invalid = |fault: String| ScheduleError::Invalid(vec![fault]);
    if text.contains('\0') {
        return Err(invalid("name must not contain NUL characters".to_owned()));
    }
    let slug = Slug::normalise(text).map_err(|error| invalid(format!("name: {error}")))?;
    if slug.as_str().parse::<ScheduleId>().is_ok() {
        return Err(invalid("name must not look like an id".to_owned()));
    }
    Ok(slug.to_string())
}

/// Parses a time zone; UTC by default.
pub(super) fn parse_zone(name: Option<&str>) -> Result<ScheduleZone, TimingError> {
    name.map_or(Ok(ScheduleZone::UTC), str::parse)
}

/// Returns the timing of a request, if it has one.
pub(super) fn parse_timing(
    when: &TimingFields<'_>,
    zone: ScheduleZone,
) -> Result<Option<ScheduleTiming>, ScheduleError> {
    match (when.cron, when.every_s, when.at) {
        (None, None, None) => Ok(None),
        (Some(cron), None, None) => Ok(Some(ScheduleTiming::cron(cron)?)),
        (None, Some(seconds), None) => Ok(Some(ScheduleTiming::every(seconds)?)),
        (None, None, Some(at)) => Ok(Some(ScheduleTiming::At { at: zone.parse_time(at)? })),
        (..) => {
            let fault = "set only one of cron, every_s and at";
            Err(ScheduleError::Invalid(vec![fault.to_owned()]))
        }
    }
}

/// Returns the first due time after `now`; fails if there is none.
pub(super) fn first_due(
    rule: &ScheduleRule,
    now: DateTime<Utc>,
) -> Result<DateTime<Utc>, TimingError> {
    rule.next_after(now).ok_or_else(|| match &rule.timing {
        ScheduleTiming::Cron { expression } => TimingError::Never(expression.clone()),
        ScheduleTiming::At { at } => TimingError::InPast(rule.zone.format_local(*at)),
        ScheduleTiming::Every { seconds } => TimingError::BadInterval(*seconds),
    })
}

/// Returns the payload of a request, if it has one.
pub(super) fn validate_payload(
    prompt: Option<String>,
    task: Option<CreateTask>,
    request: Option<SubmitRequest>,
) -> Result<Option<SchedulePayload>, ScheduleError> {
    let (prompt, task) = (prompt.redact_secrets(), task.redact_secrets());
    let (faults, payload) = match (prompt, task, request) {
        (None, None, None) => return Ok(None),
        (Some(text), None, None) => (prompt_faults(&text), SchedulePayload::Prompt { text }),
        (None, Some(task), None) => {
            (task_faults(&task), SchedulePayload::Task { request: json!(task) })
        }
        (None, None, Some(mut request)) => {
            request.text = request.text.redact_secrets();
            (request_faults(&request), SchedulePayload::Request { request: json!(request) })
        }
        _ => {
            let fault = "set only one of prompt, task and request".to_owned();
            return Err(ScheduleError::Invalid(vec![fault]));
        }
    };
    if faults.is_empty() { Ok(Some(payload)) } else { Err(ScheduleError::Invalid(faults)) }
}

/// Returns the faults of a request, including fields that the schedule sets.
fn request_faults(request: &SubmitRequest) -> Vec<String> {
    let mut faults = prompt_faults(&request.text);
    faults.extend(request.settings.validation_errors());
    let unfit = [
        ("project", request.project.is_some()),
        ("idempotency_key", request.idempotency_key.is_some()),
        ("origin", request.origin.is_some()),
        ("reference", request.reference.is_some()),
    ];
    let unfit = unfit.iter().filter(|(_, is_there)| *is_there);
    faults.extend(
        unfit.map(|(field, _)| format!("a scheduled request cannot have {field}; omit it")),
    );
    faults
}

fn prompt_faults(text: &str) -> Vec<String> {
    let mut faults = vec![];
    if text.trim().is_empty() {
        faults.push("prompt is empty: describe what to do".to_owned());
    }
    if text.len() > MAX_PROMPT_BYTES {
        faults.push(format!("prompt must have at most {MAX_PROMPT_BYTES} bytes"));
    }
    if text.contains('\0') {
        faults.push("prompt must not contain NUL characters".to_owned());
    }
    faults
}

/// Returns the faults of a task, including fields that make no sense for a recurring one.
fn task_faults(task: &CreateTask) -> Vec<String> {
    let mut faults = validate_task_request(task);
    if task.input_mode == InputMode::Prompt {
        faults.push("task needs commands or a script; put prose in prompt".to_owned());
    }
    let unfit = [
        ("project", task.project.is_some()),
        ("idempotency_key", task.idempotency_key.is_some()),
        ("depends_on", !task.depends_on.is_empty()),
        ("builds_on", !task.builds_on.is_empty()),
        ("attachments", !task.attachments.is_empty()),
    ];
    let unfit = unfit.iter().filter(|(_, is_there)| *is_there);
    faults.extend(unfit.map(|(field, _)| format!("a scheduled task cannot have {field}; omit it")));
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

        let prose = validate_payload(Some("run `true`".to_owned()), None, None).unwrap();
        let named = validate_payload(None, Some(commands), None).unwrap();

        assert!(matches!(prose, Some(SchedulePayload::Prompt { .. })));
        assert!(matches!(named, Some(SchedulePayload::Task { .. })));
    }

    #[test]
    fn a_scheduled_task_with_prose_or_a_key_is_refused_with_every_fault() {
        let prose =
            task(json!({ "prompt": "tidy up", "idempotency_key": "k", "depends_on": ["a"] }));

        let Err(ScheduleError::Invalid(faults)) = validate_payload(None, Some(prose), None) else {
            panic!()
        };

        assert_eq!(faults.len(), 3, "{faults:#?}");
    }

    #[test]
    fn two_timings_at_once_are_refused() {
        let both = TimingFields { cron: Some("* * * * *"), every_s: Some(60), at: None };

        assert!(parse_timing(&both, ScheduleZone::UTC).unwrap_err().to_string().contains("one of"));
    }
}
