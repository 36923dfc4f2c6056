//! Validation of task requests, before anything is written.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::criteria::Criterion;
use cynode_domain::git::credential_name_fault;
use cynode_domain::ids::TaskId;
use cynode_domain::image_name::check_image_name;
use cynode_domain::name::Slug;
use cynode_domain::node_labels::check_demanded;
use cynode_domain::plan::InputMode;
use cynode_wire::tasks::{
    Attachment, CreateTask, MAX_ATTEMPTS, MAX_COMMANDS, MAX_COMMANDS_BYTES,
    MAX_IDEMPOTENCY_KEY_BYTES, MAX_LIST, MAX_PROMPT_BYTES,
};

use super::agent::validate_agent;
use super::builds_on::validate_builds_on;
use super::repository::validate_repository;
use crate::artifacts::validate_artifact_path;

const MAX_SCRIPT_BYTES: usize = 256 * 1024;
const MAX_ATTACHMENTS: usize = 16;
pub(super) const MAX_ATTACHMENT_BYTES: usize = 10 * 1024 * 1024;
/// One minute to one year.
const ANSWER_WITHIN_S: std::ops::RangeInclusive<u32> = 60..=31_536_000;
const MAX_CRITERION_BYTES: usize = 16 * 1024;

/// Returns every validation error of a request.
pub fn validate_task_request(request: &CreateTask) -> Vec<String> {
    let mut faults = validate_input(request);
    let list = |what: &str, length: usize| {
        (length > MAX_LIST).then(|| format!("{what} has {length} entries; allowed are {MAX_LIST}"))
    };
    faults.extend(validate_criteria(&request.acceptance_criteria));
    faults.extend(validate_step_criteria(request));
    faults.extend(list("step_criteria", request.step_criteria.len()));
    faults.extend(list("expected_outputs", request.expected_outputs.len()));
    faults.extend(list("depends_on", request.depends_on.len()));
    faults.extend(
        request.expected_outputs.iter().filter_map(|path| validate_artifact_path(path).err()),
    );
    faults.extend(request.limits.validation_errors());
    if let Some(attempts) = request.max_attempts
        && !(1..=MAX_ATTEMPTS).contains(&attempts)
    {
        faults.push(format!("max_attempts is {attempts}; allowed is 1 to {MAX_ATTEMPTS}"));
    }
    if let Some(seconds) = request.answer_within_s
        && !ANSWER_WITHIN_S.contains(&seconds)
    {
        let (low, high) = (ANSWER_WITHIN_S.start(), ANSWER_WITHIN_S.end());
        faults.push(format!("answer_within_s is {seconds}; allowed is {low} to {high}"));
    }
    faults.extend(validate_agent(request));
    faults.extend(validate_builds_on(request));
    faults.extend(validate_repository(request));
    let credential = request.repository.as_ref().and_then(|it| it.credential.as_deref());
    faults.extend(credential.and_then(credential_name_fault));
    faults.extend(validate_placement(request));
    let image = request.image.as_deref().map(check_image_name);
    faults.extend(image.and_then(|checked| Some(checked.err()?.to_string())));
    faults.extend(request.task_name.as_deref().and_then(validate_task_name));
    faults.extend(request.idempotency_key.as_deref().and_then(validate_idempotency_key));
    faults.extend(validate_attachments(&request.attachments));
    faults
}

fn validate_placement(request: &CreateTask) -> Option<String> {
    if request.node.is_some() && !request.node_labels.is_empty() {
        return Some(
            "node and node_labels exclude each other: name a node, or the labels of one".to_owned(),
        );
    }
    check_demanded(&request.node_labels).err().map(|error| format!("node_labels: {error}"))
}

pub(super) fn validate_idempotency_key(key: &str) -> Option<String> {
    let is_bad = key.is_empty() || key.len() > MAX_IDEMPOTENCY_KEY_BYTES || key.contains('\0');
    is_bad.then(|| {
        format!("idempotency_key needs 1 to {MAX_IDEMPOTENCY_KEY_BYTES} bytes, none of them NUL")
    })
}

pub(super) fn validate_task_name(name: &str) -> Option<String> {
    if name.contains('\0') {
        return Some("task_name must not contain NUL characters".to_owned());
    }
    match Slug::normalise(name) {
        Ok(slug) if parses_as_task_id(&slug) => {
            Some("task_name looks like an id: choose a name".to_owned())
        }
        Ok(_) => None,
        Err(error) => Some(format!("task_name: {error}")),
    }
}

/// Whether a name would be parsed as an id where both are accepted.
pub(super) fn parses_as_task_id(slug: &Slug) -> bool {
    slug.as_str().parse::<TaskId>().is_ok()
}

/// Returns every validation error of acceptance criteria.
pub(super) fn validate_criteria(criteria: &[Criterion]) -> Vec<String> {
    let count = criteria.len();
    let too_many = (count > MAX_LIST)
        .then(|| format!("acceptance_criteria has {count} entries; allowed are {MAX_LIST}"));
    too_many.into_iter().chain(criteria.iter().filter_map(validate_criterion)).collect()
}

/// Returns every validation error of step criteria.
fn validate_step_criteria(request: &CreateTask) -> Vec<String> {
    let (of_steps, count) = (&request.step_criteria, request.commands.len());
    if !of_steps.is_empty() && request.input_mode != InputMode::Commands {
        return vec!["step_criteria belong to input_mode \"commands\"".to_owned()];
    }
    let is_known = |index: u32| usize::try_from(index).is_ok_and(|index| index < count);
    let unknown = of_steps.iter().filter(|of| !is_known(of.step_index)).map(|of| {
        format!(
            "step_criteria: there is no step_index {}; commands has {count} entries",
            of.step_index
        )
    });
    unknown.chain(of_steps.iter().filter_map(|of| validate_criterion(&of.criterion))).collect()
}

/// Checks the length first, so that a regular expression of megabytes is not compiled.
fn validate_criterion(criterion: &Criterion) -> Option<String> {
    let text = match criterion {
        Criterion::Text { description: text }
        | Criterion::OutputMatches { pattern: text }
        | Criterion::FileExists { path: text }
        | Criterion::CommandSucceeds { command: text } => text,
        Criterion::ExitCode { .. } => return None,
    };
    if text.len() > MAX_CRITERION_BYTES {
        return Some(format!("an acceptance criterion is longer than {MAX_CRITERION_BYTES} bytes"));
    }
    if text.contains('\0') {
        return Some("acceptance criteria must not contain NUL characters".to_owned());
    }
    criterion.problem()
}

/// Validates prompt and commands: the input mode decides which of them is required; the other must be empty.
fn validate_input(request: &CreateTask) -> Vec<String> {
    let mut faults = vec![];
    let (prompt, commands) = (&request.prompt, &request.commands);
    match request.input_mode {
        InputMode::Prompt | InputMode::Agent | InputMode::Script | InputMode::Request => {
            let is_script = request.input_mode == InputMode::Script;
            let max = if is_script { MAX_SCRIPT_BYTES } else { MAX_PROMPT_BYTES };
            if prompt.trim().is_empty() {
                faults.push("prompt is empty: describe the task".to_owned());
            }
            if prompt.len() > max {
                faults.push(format!("prompt is longer than {max} bytes"));
            }
            if !commands.is_empty() {
                faults.push("commands belong to input_mode \"commands\"".to_owned());
            }
        }
        InputMode::Commands => {
            if commands.is_empty() || commands.len() > MAX_COMMANDS {
                faults.push(format!("commands needs 1 to {MAX_COMMANDS} entries"));
            }
            if commands.iter().any(|line| line.trim().is_empty()) {
                faults.push("a command is empty".to_owned());
            }
            if commands.iter().map(String::len).sum::<usize>() > MAX_COMMANDS_BYTES {
                faults.push(format!("commands are longer than {MAX_COMMANDS_BYTES} bytes in all"));
            }
        }
    }
    if prompt.contains('\0') || commands.iter().any(|line| line.contains('\0')) {
        faults.push("prompt and commands must not contain NUL characters".to_owned());
    }
    faults
}

fn validate_attachments(attachments: &[Attachment]) -> Vec<String> {
    let mut faults = vec![];
    if attachments.len() > MAX_ATTACHMENTS {
        faults.push(format!("{} attachments; allowed are {MAX_ATTACHMENTS}", attachments.len()));
    }
    for (index, attachment) in attachments.iter().enumerate() {
        let name = &attachment.name;
        if validate_artifact_path(name).is_err() || name.contains('/') {
            faults.push(format!("attachment \"{name}\" is not a plain file name"));
        }
        if attachments[..index].iter().any(|other| other.name == *name) {
            faults.push(format!("two attachments are named \"{name}\""));
        }
        match STANDARD.decode(&attachment.content_base64) {
            Ok(content) if content.len() <= MAX_ATTACHMENT_BYTES => {}
            Ok(_) => faults.push(format!("attachment \"{name}\" is longer than 10 MiB")),
            Err(error) => faults.push(format!("attachment \"{name}\" is not base64: {error}")),
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(json: serde_json::Value) -> CreateTask {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn criteria_of_steps_need_the_commands_that_they_name() {
        let of = |mode: &str, step_index: u32| {
            let criterion = serde_json::json!({ "kind": "text", "description": "it reads well" });
            let (field, work) = match mode {
                "commands" => ("commands", serde_json::json!(["make", "make test"])),
                _ => ("prompt", serde_json::json!("make it")),
            };
            let step_criteria =
                [serde_json::json!({ "step_index": step_index, "criterion": criterion })];
            validate_task_request(&request(serde_json::json!({
                "input_mode": mode, field: work, "step_criteria": step_criteria,
            })))
        };

        assert_eq!(of("commands", 1), Vec::<String>::new());
        let unknown = "step_criteria: there is no step_index 2; commands has 2 entries";
        assert_eq!(of("commands", 2), [unknown]);
        for mode in ["prompt", "script"] {
            assert_eq!(of(mode, 0), ["step_criteria belong to input_mode \"commands\""]);
        }
    }

    #[test]
    fn every_fault_of_a_request_is_named_at_once() {
        let request = request(serde_json::json!({
            "input_mode": "commands",
            "commands": ["true", " "],
            "max_attempts": 99,
            "limits": { "timeout_s": 0 },
            "expected_outputs": ["../escape"],
            "attachments": [{ "name": "a/b", "content_base64": "?" }],
        }));

        let faults = validate_task_request(&request);

        assert_eq!(faults.len(), 6, "{faults:#?}");
    }
}
