//! Requests that are written like commands. What they want is certain, so no model is asked: a small
//! one would only get it wrong, and a large one would cost something.

use super::intent::{Intent, Wish, after, intent};
use super::recurring::Recurring;

/// How requests for a change begin, as the help lists them.
const CHANGES: &[&str] =
    &["create task:", "new task:", "run:", "/run ", "create project ", "answer ", "decline "];
/// How requests about one task begin.
const ABOUT: &[&str] = &["status of ", "logs of ", "runs of ", "cancel "];

/// What the words want, if they are one of the forms that the help lists and nothing else.
pub(super) fn command(text: &str) -> Option<Intent> {
    let wanted = intent(text);
    let begins = |heads: &[&str]| after(text.trim_start(), heads).is_some();
    let is_certain = match &wanted {
        Intent::Projects
        | Intent::Tasks(_)
        | Intent::Nodes
        | Intent::Overview
        | Intent::Waiting
        | Intent::Schedules
        | Intent::Recurring(Recurring::Clear { .. }) => true,
        Intent::CreateTask(_) | Intent::RunCommands(_) | Intent::CreateProject(_) => {
            begins(CHANGES)
        }
        Intent::About(Wish::Answer(_) | Wish::Decline, task) => begins(CHANGES) && is_a_name(task),
        Intent::About(_, task) => begins(ABOUT) && is_a_name(task),
        // A greeting is answered by whoever can talk.
        Intent::Help
        | Intent::Incomplete(_)
        | Intent::Unclear
        | Intent::Recurring(Recurring::WhenUnclear) => false,
    };
    is_certain.then_some(wanted)
}

/// Whether it can only be the name or id of a task: `everything` can be more.
fn is_a_name(text: &str) -> bool {
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
            "run: make test",
            "create project Web Shop",
            "every day at 3 run `make`",
            "status of build-1",
            "logs of build-1",
            "cancel build-1",
            "answer build-1 with `make`",
            "decline build-1",
        ] {
            assert!(command(text).is_some(), "{text}");
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
            assert_eq!(command(text), None, "{text}");
        }
    }
}
