//! Requests in the form of a command. Their intent is certain, so rules handle them without the cost and the
//! errors of a model.

use super::intent::{ChatIntent, TaskIntent, detect_intent, strip_any_prefix};
use super::recurring::RecurringRequest;

/// Prefixes of requests for a change, as listed in the help.
const CHANGE_PREFIXES: &[&str] = &[
    "create task:",
    "new task:",
    "submit to ",
    "run:",
    "/run ",
    "create project ",
    "answer ",
    "decline ",
];
/// Prefixes of requests about one task.
const TASK_PREFIXES: &[&str] = &["status of ", "logs of ", "runs of ", "cancel "];

/// Parses a text that has exactly one of the forms in the help.
pub(super) fn parse_command(text: &str) -> Option<ChatIntent> {
    let wanted = detect_intent(text);
    let begins = |heads: &[&str]| strip_any_prefix(text.trim_start(), heads).is_some();
    let is_certain = match &wanted {
        ChatIntent::Projects
        | ChatIntent::Tasks(_)
        | ChatIntent::Nodes
        | ChatIntent::Overview
        | ChatIntent::Waiting
        | ChatIntent::Schedules
        | ChatIntent::Recurring(RecurringRequest::Clear { .. }) => true,
        ChatIntent::CreateTask(_)
        | ChatIntent::Submit { .. }
        | ChatIntent::RunCommands(_)
        | ChatIntent::CreateProject(_) => begins(CHANGE_PREFIXES),
        ChatIntent::AboutTask(TaskIntent::Answer(_) | TaskIntent::Decline, task) => {
            begins(CHANGE_PREFIXES) && is_task_name(task)
        }
        ChatIntent::AboutTask(_, task) => begins(TASK_PREFIXES) && is_task_name(task),
        // A model answers greetings if there is one.
        ChatIntent::Help
        | ChatIntent::Incomplete(_)
        | ChatIntent::Unclear
        | ChatIntent::Recurring(RecurringRequest::UnclearTiming) => false,
    };
    is_certain.then_some(wanted)
}

/// Whether the text can only be the name or id of a task; `everything`, for example, is ambiguous.
fn is_task_name(text: &str) -> bool {
    let is_one_word = !text.contains(char::is_whitespace);
    is_one_word && text.contains(|it: char| it == '-' || it.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_help_lists_needs_no_model() {
        for text in [
            "tasks",
            "What is running?",
            "projects",
            "status",
            "what is waiting for me?",
            "schedules",
            "Create task: wash the car",
            "submit to https://example.com/a.git: fix the typo",
            "run: make test",
            "create project Web Shop",
            "every day at 3 run `make`",
            "status of build-1",
            "logs of build-1",
            "cancel build-1",
            "answer build-1 with `make`",
            "decline build-1",
        ] {
            assert!(parse_command(text).is_some(), "{text}");
        }
    }

    #[test]
    fn whatever_leaves_a_doubt_is_for_the_model() {
        for text in [
            "hello",
            "help",
            "cancel everything",
            "cancel all tasks of web-shop that failed",
            "status of the release",
            "Please create a task to wash the car, and tell me when it is dry",
            "run `make test` and tell me what you think of it",
            "### Task:\nSuggest three titles.",
            "task: wash the car",
            "answer the question of build-1: what is six times seven",
            "what is six times seven?",
            "",
        ] {
            assert_eq!(parse_command(text), None, "{text}");
        }
    }
}
