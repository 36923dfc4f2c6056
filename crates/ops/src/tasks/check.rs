//! Everything that can be wrong with a request for a task, found before anything is written.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cynode_domain::criteria::Criterion;
use cynode_domain::ids::TaskId;
use cynode_domain::name::Slug;
use cynode_domain::plan::InputMode;
use cynode_wire::tasks::{Attachment, CreateTask};

use crate::artifacts::check_path;

const MAX_PROMPT_BYTES: usize = 1024 * 1024;
const MAX_SCRIPT_BYTES: usize = 256 * 1024;
const MAX_COMMANDS: usize = 200;
const MAX_COMMANDS_BYTES: usize = 64 * 1024;
const MAX_LIST: usize = 100;
const MAX_ATTACHMENTS: usize = 16;
pub(super) const MAX_ATTACHMENT_BYTES: usize = 10 * 1024 * 1024;
const MAX_ATTEMPTS: u32 = 10;
/// From a minute to a year.
const ANSWER_WITHIN_S: std::ops::RangeInclusive<u32> = 60..=31_536_000;
const MAX_CRITERION_BYTES: usize = 16 * 1024;

/// Everything that is wrong with a request, in words.
pub(crate) fn faults(request: &CreateTask) -> Vec<String> {
    let mut faults = work_faults(request);
    let list = |what: &str, length: usize| {
        (length > MAX_LIST).then(|| format!("{what} has {length} entries; allowed are {MAX_LIST}"))
    };
    faults.extend(criteria_faults(&request.acceptance_criteria));
    faults.extend(step_criteria_faults(request));
    faults.extend(list("step_criteria", request.step_criteria.len()));
    faults.extend(list("expected_outputs", request.expected_outputs.len()));
    faults.extend(list("depends_on", request.depends_on.len()));
    faults.extend(request.expected_outputs.iter().filter_map(|path| check_path(path).err()));
    faults.extend(request.limits.problems());
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
    faults.extend(request.task_name.as_deref().and_then(name_fault));
    let is_bad_key = |key: &String| key.is_empty() || key.len() > 200 || key.contains('\0');
    if request.idempotency_key.as_ref().is_some_and(is_bad_key) {
        faults.push("idempotency_key needs 1 to 200 bytes, none of them NUL".to_owned());
    }
    faults.extend(attachment_faults(&request.attachments));
    faults
}

pub(super) fn name_fault(name: &str) -> Option<String> {
    if name.contains('\0') {
        return Some("task_name must not hold NUL characters".to_owned());
    }
    match Slug::normalise(name) {
        Ok(slug) if is_id(&slug) => {
            Some("task_name looks like an id, and would be taken for one".to_owned())
        }
        Ok(_) => None,
        Err(error) => Some(format!("task_name: {error}")),
    }
}

/// Whether a name would be read as an id wherever either is accepted.
pub(super) fn is_id(slug: &Slug) -> bool {
    slug.as_str().parse::<TaskId>().is_ok()
}

/// Everything that is wrong with acceptance criteria, in words.
pub(super) fn criteria_faults(criteria: &[Criterion]) -> Vec<String> {
    let count = criteria.len();
    let too_many = (count > MAX_LIST)
        .then(|| format!("acceptance_criteria has {count} entries; allowed are {MAX_LIST}"));
    too_many.into_iter().chain(criteria.iter().filter_map(criterion_fault)).collect()
}

/// Everything that is wrong with the criteria of single commands, in words.
fn step_criteria_faults(request: &CreateTask) -> Vec<String> {
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
    unknown.chain(of_steps.iter().filter_map(|of| criterion_fault(&of.criterion))).collect()
}

/// The length is looked at first: an expression of megabytes is not worth compiling.
fn criterion_fault(criterion: &Criterion) -> Option<String> {
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
        return Some("acceptance criteria must not hold NUL characters".to_owned());
    }
    criterion.problem()
}

/// The mode decides which fields say what is to be done; the others must be empty.
fn work_faults(request: &CreateTask) -> Vec<String> {
    let mut faults = vec![];
    let (prompt, commands) = (&request.prompt, &request.commands);
    match request.input_mode {
        InputMode::Prompt | InputMode::Script => {
            let is_script = request.input_mode == InputMode::Script;
            let max = if is_script { MAX_SCRIPT_BYTES } else { MAX_PROMPT_BYTES };
            if prompt.trim().is_empty() {
                faults.push("prompt is empty: say what is to be done".to_owned());
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
        faults.push("prompt and commands must not hold NUL characters".to_owned());
    }
    faults
}

fn attachment_faults(attachments: &[Attachment]) -> Vec<String> {
    let mut faults = vec![];
    if attachments.len() > MAX_ATTACHMENTS {
        faults.push(format!("{} attachments; allowed are {MAX_ATTACHMENTS}", attachments.len()));
    }
    for (index, attachment) in attachments.iter().enumerate() {
        let name = &attachment.name;
        if check_path(name).is_err() || name.contains('/') {
            faults.push(format!("attachment \"{name}\" is no plain file name"));
        }
        if attachments[..index].iter().any(|other| other.name == *name) {
            faults.push(format!("two attachments are called \"{name}\""));
        }
        match STANDARD.decode(&attachment.content_base64) {
            Ok(content) if content.len() <= MAX_ATTACHMENT_BYTES => {}
            Ok(_) => faults.push(format!("attachment \"{name}\" is longer than 10 MiB")),
            Err(error) => faults.push(format!("attachment \"{name}\" is no base64: {error}")),
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
            faults(&request(serde_json::json!({
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

        let faults = faults(&request);

        assert_eq!(faults.len(), 6, "{faults:#?}");
    }
}
