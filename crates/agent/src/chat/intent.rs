//! What a person wants, as far as rules can tell.
//!
//! Only the words of the person's own last turn are read. Whatever does not clearly ask for
//! something is [`Intent::Unclear`]: rules never guess at a change.

use cynode_domain::status::ShownTaskStatus;

use super::recurring::{Recurring, may_be_later, recurring};
use crate::brain::decisions::explicit_commands;

/// What a person wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Intent {
    /// To know what can be said.
    Help,
    /// The projects.
    Projects,
    /// Tasks, of one status if one was named.
    Tasks(Option<ShownTaskStatus>),
    /// The worker nodes.
    Nodes,
    /// How all of it is going.
    Overview,
    /// What waits for the person.
    Waiting,
    /// Something about one task, by what the person calls it.
    About(Wish, String),
    /// A task, described in words.
    CreateTask(String),
    /// A task that runs commands.
    RunCommands(Vec<String>),
    /// Commands that are run again and again.
    Recurring(Recurring),
    /// The schedules.
    Schedules,
    /// A project of this name.
    CreateProject(String),
    /// A verb without the task that it is about.
    Incomplete(&'static str),
    /// Something else.
    Unclear,
}

/// What a person wants of one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wish {
    /// How it is going.
    Status,
    /// What it printed.
    Logs,
    /// Its executions.
    Runs,
    /// That it is stopped.
    Cancel,
    /// That its question is answered with commands.
    Answer(Vec<String>),
    /// That its question is answered with no.
    Decline,
    /// What only people do, such as to approve a plan.
    ForPeople(&'static str),
}

impl Intent {
    /// What it is called on record.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Help => "help",
            Self::Projects => "projects",
            Self::Tasks(_) => "tasks",
            Self::Nodes => "nodes",
            Self::Overview => "overview",
            Self::Waiting => "what waits for the person",
            Self::About(Wish::Status, _) => "status of a task",
            Self::About(Wish::Logs, _) => "logs of a task",
            Self::About(Wish::Runs, _) => "runs of a task",
            Self::About(Wish::Cancel, _) => "cancel a task",
            Self::About(Wish::Answer(_), _) => "answer a question",
            Self::About(Wish::Decline, _) => "decline a question",
            Self::About(Wish::ForPeople(_), _) => "for people only",
            Self::CreateTask(_) => "create a task",
            Self::RunCommands(_) => "run commands",
            Self::Recurring(_) => "create a schedule",
            Self::Schedules => "schedules",
            Self::CreateProject(_) => "create a project",
            Self::Incomplete(_) => "incomplete",
            Self::Unclear => "unclear",
        }
    }
}

/// How a request may begin before it says what it wants.
const POLITE: &[&str] = &[
    "please ",
    "can you ",
    "could you ",
    "would you ",
    "hey ",
    "hi, ",
    "hello, ",
    "ok ",
    "okay ",
    "i want to ",
    "i'd like to ",
    "let's ",
    "now ",
    "/",
];
const HELP: &[&str] =
    &["help", "hi", "hello", "hey", "commands", "what can you do", "how does this work", "usage"];
const PROJECTS: &[&str] = &["projects", "my projects", "all projects", "which projects are there"];
const SCHEDULES: &[&str] =
    &["schedules", "my schedules", "all schedules", "which schedules are there", "the schedules"];
const NODES: &[&str] = &["nodes", "all nodes", "workers", "worker nodes", "the nodes"];
const OVERVIEW: &[&str] = &[
    "status",
    "overview",
    "how is it going",
    "how are things",
    "what is going on",
    "what's going on",
    "what's up",
    "what is happening",
    "summary",
];
const WAITING: &[&str] = &[
    "what is waiting for me",
    "what's waiting for me",
    "what waits for me",
    "waiting",
    "inbox",
    "questions",
    "my questions",
    "open questions",
    "what do you need from me",
    "is anything waiting for me",
    "anything waiting for me",
    "is there anything for me",
    "anything for me",
    "what needs an answer",
    "what needs my attention",
    "approvals",
];
const STATUS_OF: &[&str] = &[
    "status of ",
    "status ",
    "show task ",
    "show me task ",
    "show me ",
    "show ",
    "how is ",
    "how's ",
    "what about ",
    "what happened to ",
    "what happened with ",
    "why did ",
    "task ",
    "explain ",
    "result of ",
    "result ",
    "describe ",
];
const LOGS_OF: &[&str] = &["logs of ", "logs ", "log of ", "output of ", "output "];
const RUNS_OF: &[&str] = &["runs of ", "list runs of ", "history of ", "runs "];
const CANCEL: &[&str] = &["cancel ", "abort ", "stop ", "kill "];
const CREATE: &[&str] = &[
    "create a task to ",
    "create a task that ",
    "create a task ",
    "create task ",
    "new task ",
    "add a task to ",
    "add a task ",
    "add task ",
    "make a task ",
    "create a new task ",
    "start a task to ",
    "start a task ",
];
/// These ask for a task with a colon after them only: `task foo` is a question.
const CREATE_WITH_COLON: &[&str] = &["task:", "todo:"];
const CREATE_PROJECT: &[&str] = &[
    "create a project called ",
    "create a project named ",
    "create a project ",
    "create project ",
    "new project ",
];
/// What people alone may do.
const FOR_PEOPLE: &[&str] = &["approve", "retry", "resume", "pause", "start", "fork"];
/// Words around the name of a task that are not part of it.
const AROUND: &[&str] = &["the task ", "task ", "the ", "my task ", "my "];
const AFTER: &[&str] = &[" going", " doing", " fail", " task", " now", " stuck", " done yet"];

/// What the words of a person want.
pub(super) fn intent(text: &str) -> Intent {
    if let Some(command) = after(text.trim(), &["/run "]) {
        return bare(command.trim());
    }
    let text = polite(text.trim());
    if let Some(recurring) = recurring(text) {
        return Intent::Recurring(recurring);
    }
    let commands = explicit_commands(text);
    if !commands.is_empty() {
        return Intent::RunCommands(commands);
    }
    if let Some(command) = after(text, &["run:", "execute:"]) {
        return bare(command.trim_matches('`').trim());
    }
    let plain = text.trim_end_matches(['?', '!', '.', ' ']);
    let listed = after(plain, &["list ", "show me ", "show ", "give me "]).unwrap_or(plain);
    question(&listed.to_lowercase()).or_else(|| change(text)).unwrap_or_else(|| about(plain))
}

/// A command that nothing encloses: it is run now, unless it may be meant for later.
fn bare(command: &str) -> Intent {
    if may_be_later(command) {
        return Intent::Recurring(Recurring::WhenUnclear);
    }
    Intent::RunCommands(vec![command.to_owned()])
}

/// A question about everything.
fn question(lower: &str) -> Option<Intent> {
    let is = |phrases: &[&str]| phrases.contains(&lower);
    if is(HELP) {
        return Some(Intent::Help);
    }
    if is(PROJECTS) {
        return Some(Intent::Projects);
    }
    if is(SCHEDULES) {
        return Some(Intent::Schedules);
    }
    if is(NODES) {
        return Some(Intent::Nodes);
    }
    if is(WAITING) {
        return Some(Intent::Waiting);
    }
    if is(OVERVIEW) {
        return Some(Intent::Overview);
    }
    tasks(lower)
}

/// `tasks`, `failed tasks`, `what is running`, `which tasks failed`.
fn tasks(lower: &str) -> Option<Intent> {
    let words: Vec<&str> = lower.split_whitespace().collect();
    let filler = [
        "all", "my", "the", "open", "tasks", "runs", "what", "which", "is", "are", "have", "has",
        "what's", "there",
    ];
    let mut status = None;
    for word in &words {
        match word.parse() {
            Ok(known) => status = Some(known),
            Err(_) if filler.contains(word) => {}
            Err(_) => return None,
        }
    }
    let is_about_tasks = words.iter().any(|word| matches!(*word, "tasks" | "runs"));
    (is_about_tasks || (status.is_some() && words.len() > 1)).then_some(Intent::Tasks(status))
}

/// Something is to change.
fn change(text: &str) -> Option<Intent> {
    if let Some(rest) = after(text, &["answer "]) {
        return Some(answer(rest));
    }
    if let Some(rest) = after(text, &["decline "]) {
        return Some(named("decline", rest, Wish::Decline));
    }
    if let Some(rest) = described(text) {
        return Some(Intent::CreateTask(rest));
    }
    if let Some(rest) = after(text, CREATE_PROJECT) {
        let name = rest.trim_start_matches(':').trim().trim_matches(['"', '`', '.']).to_owned();
        return Some(if name.is_empty() {
            Intent::Incomplete("create project")
        } else {
            Intent::CreateProject(name)
        });
    }
    if let Some(rest) = after(text, CANCEL) {
        return Some(named("cancel", rest, Wish::Cancel));
    }
    let (verb, rest) = FOR_PEOPLE
        .iter()
        .find_map(|verb| Some((*verb, after(text, &[verb])?.strip_prefix(' ')?)))?;
    Some(named(verb, rest, Wish::ForPeople(verb)))
}

/// A question about one task.
fn about(plain: &str) -> Intent {
    for (heads, wish) in [(RUNS_OF, Wish::Runs), (LOGS_OF, Wish::Logs), (STATUS_OF, Wish::Status)] {
        if let Some(rest) = after(plain, heads) {
            let task = name(rest);
            // A name is short: a whole sentence is not about one task.
            if !task.is_empty() && task.split_whitespace().count() <= 6 {
                return Intent::About(wish, task);
            }
        }
    }
    let lower = plain.to_lowercase();
    let verbs = FOR_PEOPLE.iter().chain(&["cancel", "decline", "answer"]);
    verbs
        .into_iter()
        .find(|verb| **verb == lower)
        .map_or(Intent::Unclear, |verb| Intent::Incomplete(verb))
}

/// `answer NAME with …`, `answer NAME: …`; `no` declines.
fn answer(rest: &str) -> Intent {
    let split = rest.split_once(" with ").or_else(|| rest.split_once(':'));
    let Some((task, reply)) = split else { return Intent::Incomplete("answer") };
    let (task, reply) = (name(task), reply.trim());
    if task.is_empty() || reply.is_empty() {
        return Intent::Incomplete("answer");
    }
    match reply.to_lowercase().trim_end_matches('.') {
        "no" => return Intent::About(Wish::Decline, task),
        "yes" => return Intent::About(Wish::ForPeople("approve"), task),
        _ => {}
    }
    let marked = explicit_commands(&format!("run {reply}"));
    let lines = if marked.is_empty() { vec![reply.trim_matches('`').to_owned()] } else { marked };
    Intent::About(Wish::Answer(lines), task)
}

fn named(verb: &'static str, rest: &str, wish: Wish) -> Intent {
    let task = name(rest);
    if task.is_empty() || matches!(task.as_str(), "it" | "that" | "this") {
        Intent::Incomplete(verb)
    } else {
        Intent::About(wish, task)
    }
}

/// What a task is to do, after `create task`, `create task:` or `task:`.
fn described(text: &str) -> Option<String> {
    let with_colon = |head: &&str| after(text, &[&format!("{}:", head.trim_end())]);
    let rest = CREATE.iter().find_map(with_colon);
    let rest = rest.or_else(|| after(text, CREATE_WITH_COLON)).or_else(|| after(text, CREATE))?;
    let rest = rest.trim_start_matches(':').trim();
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// The name of a task without the words around it.
fn name(text: &str) -> String {
    let mut text = text.trim().trim_end_matches(['?', '!', '.']);
    if let Some(rest) = after(text, AROUND) {
        text = rest;
    }
    for ending in AFTER {
        let cut = text.len().saturating_sub(ending.len());
        if text.get(cut..).is_some_and(|end| end.eq_ignore_ascii_case(ending)) {
            text = text.get(..cut).unwrap_or(text);
        }
    }
    text.trim().trim_matches(['"', '\'', '`']).trim().to_owned()
}

fn polite(mut text: &str) -> &str {
    while let Some(rest) = after(text, POLITE) {
        text = rest.trim_start();
    }
    text
}

/// What follows the first of these beginnings, whatever its case.
pub(super) fn after<'a>(text: &'a str, heads: &[&str]) -> Option<&'a str> {
    heads.iter().find_map(|head| {
        let begins = text.get(..head.len())?.eq_ignore_ascii_case(head);
        begins.then(|| text.get(head.len()..).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn about(wish: Wish, name: String) -> Intent {
        Intent::About(wish, name)
    }

    fn text(words: &str) -> String {
        words.to_owned()
    }

    #[test]
    fn questions_are_understood_in_many_words() {
        for (asked, wanted) in [
            ("help", Intent::Help),
            ("Hello!", Intent::Help),
            ("/help", Intent::Help),
            ("What can you do?", Intent::Help),
            ("list projects", Intent::Projects),
            ("show me my projects", Intent::Projects),
            ("tasks", Intent::Tasks(None)),
            ("Which tasks are there?", Intent::Tasks(None)),
            ("List all tasks", Intent::Tasks(None)),
            ("show failed tasks", Intent::Tasks(Some(ShownTaskStatus::Failed))),
            ("what is running?", Intent::Tasks(Some(ShownTaskStatus::Running))),
            ("which tasks have failed", Intent::Tasks(Some(ShownTaskStatus::Failed))),
            ("list runs", Intent::Tasks(None)),
            ("nodes", Intent::Nodes),
            ("list my schedules", Intent::Schedules),
            ("How is it going?", Intent::Overview),
            ("status", Intent::Overview),
            ("What is waiting for me?", Intent::Waiting),
            ("inbox", Intent::Waiting),
            ("status of build-1", about(Wish::Status, text("build-1"))),
            ("How is the task build-1 going?", about(Wish::Status, text("build-1"))),
            ("why did build-1 fail?", about(Wish::Status, text("build-1"))),
            ("show task \"build-1\"", about(Wish::Status, text("build-1"))),
            ("task build-1", about(Wish::Status, text("build-1"))),
            ("logs of build-1", about(Wish::Logs, text("build-1"))),
            ("runs of build-1", about(Wish::Runs, text("build-1"))),
        ] {
            assert_eq!(intent(asked), wanted, "{asked}");
        }
    }

    #[test]
    fn changes_are_understood_only_where_they_are_asked_for() {
        for (asked, wanted) in [
            ("create task: wash the car", Intent::CreateTask(text("wash the car"))),
            ("Please create a task to wash the car", Intent::CreateTask(text("wash the car"))),
            ("task: wash the car", Intent::CreateTask(text("wash the car"))),
            ("Could you add a task: sweep", Intent::CreateTask(text("sweep"))),
            ("run `make test`", Intent::RunCommands(vec![text("make test")])),
            ("run `make test` every blue moon", Intent::Recurring(Recurring::WhenUnclear)),
            ("run: make test", Intent::RunCommands(vec![text("make test")])),
            ("run: make clean every day", Intent::Recurring(Recurring::WhenUnclear)),
            ("/run make every 5 minutes", Intent::Recurring(Recurring::WhenUnclear)),
            ("run: `echo every day`", Intent::RunCommands(vec![text("echo every day")])),
            ("/run make test", Intent::RunCommands(vec![text("make test")])),
            ("$ make\n$ make test", Intent::RunCommands(vec![text("make"), text("make test")])),
            ("create project Web Shop", Intent::CreateProject(text("Web Shop"))),
            ("cancel build-1", about(Wish::Cancel, text("build-1"))),
            ("stop the task build-1", about(Wish::Cancel, text("build-1"))),
            ("cancel it", Intent::Incomplete("cancel")),
            ("cancel", Intent::Incomplete("cancel")),
            (
                "answer build-1 with `make`",
                about(Wish::Answer(vec![text("make")]), text("build-1")),
            ),
            ("answer build-1: no", about(Wish::Decline, text("build-1"))),
            ("answer build-1", Intent::Incomplete("answer")),
            ("decline build-1", about(Wish::Decline, text("build-1"))),
            ("approve build-1", about(Wish::ForPeople("approve"), text("build-1"))),
            ("answer build-1: yes", about(Wish::ForPeople("approve"), text("build-1"))),
            ("retry build-1", about(Wish::ForPeople("retry"), text("build-1"))),
        ] {
            assert_eq!(intent(asked), wanted, "{asked}");
        }
    }

    #[test]
    fn what_is_not_clear_changes_nothing() {
        for asked in [
            "",
            "The car is dirty.",
            "I wonder whether we should cancel build-1",
            "rm -rf /",
            "Run the tests",
            "Tell me a joke about tasks that failed",
            "show me what you would do if every task of the project had failed",
        ] {
            assert_eq!(intent(asked), Intent::Unclear, "{asked}");
        }
    }

    const WORDS: &[&str] = &[
        "run", "`ls`", "run:", "cancel", "stop", "task", "task:", "create", "a", "project",
        "build-1", "build-1:", "please", "answer", "with", "no", "approve", "todo", "the", "and",
        "every",
    ];
    const VERBS: &[&str] = &[
        "run", "execute", "/run", "create", "new ", "add ", "make ", "start ", "task:", "todo:",
        "cancel ", "abort ", "stop ", "kill ", "answer ", "decline ", "approve ", "retry ",
        "resume ", "pause ", "fork ", "$ ",
    ];

    proptest! {
        #[test]
        fn only_what_begins_with_a_verb_changes_something(
            words in proptest::collection::vec(
                prop_oneof![
                    proptest::sample::select(WORDS).prop_map(ToOwned::to_owned),
                    "\\PC{0,8}",
                ],
                0..7,
            )
        ) {
            let text = words.join(" ");

            let wanted = intent(&text);
            let looks = matches!(wanted, Intent::About(Wish::Status | Wish::Logs | Wish::Runs, _));
            let is_change = matches!(
                wanted,
                Intent::CreateTask(_)
                    | Intent::CreateProject(_)
                    | Intent::RunCommands(_)
                    | Intent::About(..)
            ) && !looks;

            let begin = polite(text.trim()).to_lowercase();
            let has_verb = VERBS.iter().any(|verb| begin.starts_with(verb));
            prop_assert!(!is_change || has_verb, "{}", text);
        }

        #[test]
        fn what_stands_in_the_middle_of_a_sentence_is_no_request(words in "[a-z]{1,8}") {
            let sentence = format!("{words} said: cancel everything; create task: x");
            let is_change = matches!(
                intent(&sentence),
                Intent::About(Wish::Cancel, _) | Intent::CreateTask(_) | Intent::RunCommands(_)
            );
            prop_assert!(!is_change || ["task", "todo"].contains(&words.as_str()), "{}", sentence);
        }
    }
}
