//! Detects the user's intent by rule.
//!
//! Only the user's last turn is read. A text without a clear request is [`ChatIntent::Unclear`]: rules never guess a
//! change.

use cynode_domain::status::ShownTaskStatus;

use super::recurring::{RecurringRequest, may_include_schedule, parse_recurring};
use super::requests::parse_submission;
use crate::brain::decisions::explicit_commands;

/// The intent of a chat turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ChatIntent {
    Help,
    Projects,
    /// Lists tasks, of one status if the user names one.
    Tasks(Option<ShownTaskStatus>),
    /// Lists worker nodes.
    Nodes,
    /// Counts tasks by status.
    Overview,
    /// Lists what waits for the user.
    Waiting,
    /// A request about one task, with the name the user gave.
    AboutTask(TaskIntent, String),
    /// Creates a task from a description.
    CreateTask(String),
    /// Submits work on a repository.
    Submit {
        repository: String,
        text: String,
    },
    /// Creates a task that runs commands.
    RunCommands(Vec<String>),
    /// Creates a schedule.
    Recurring(RecurringRequest),
    /// Lists schedules.
    Schedules,
    /// Creates a project with this name.
    CreateProject(String),
    /// A verb without its task.
    Incomplete(&'static str),
    /// Anything else.
    Unclear,
}

/// A request about one task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TaskIntent {
    Status,
    Logs,
    Runs,
    Cancel,
    /// Answers its question with commands.
    Answer(Vec<String>),
    /// Declines its question.
    Decline,
    /// An action reserved for people, such as approving a plan.
    PeopleOnly(&'static str),
}

impl ChatIntent {
    /// The name in decision records.
    pub(super) fn label(&self) -> &'static str {
        match self {
            Self::Help => "help",
            Self::Projects => "projects",
            Self::Tasks(_) => "tasks",
            Self::Nodes => "nodes",
            Self::Overview => "overview",
            Self::Waiting => "what waits for the user",
            Self::AboutTask(TaskIntent::Status, _) => "status of a task",
            Self::AboutTask(TaskIntent::Logs, _) => "logs of a task",
            Self::AboutTask(TaskIntent::Runs, _) => "runs of a task",
            Self::AboutTask(TaskIntent::Cancel, _) => "cancel a task",
            Self::AboutTask(TaskIntent::Answer(_), _) => "answer a question",
            Self::AboutTask(TaskIntent::Decline, _) => "decline a question",
            Self::AboutTask(TaskIntent::PeopleOnly(_), _) => "for people only",
            Self::CreateTask(_) => "create a task",
            Self::Submit { .. } => "submit work",
            Self::RunCommands(_) => "run commands",
            Self::Recurring(_) => "create a schedule",
            Self::Schedules => "schedules",
            Self::CreateProject(_) => "create a project",
            Self::Incomplete(_) => "incomplete",
            Self::Unclear => "unclear",
        }
    }
}

/// Polite prefixes of a request.
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
/// Prefixes that need the colon: `task foo` is a question.
const CREATE_WITH_COLON: &[&str] = &["task:", "todo:"];
const CREATE_PROJECT: &[&str] = &[
    "create a project called ",
    "create a project named ",
    "create a project ",
    "create project ",
    "new project ",
];
/// Actions reserved for people.
const PEOPLE_ONLY: &[&str] = &["approve", "retry", "resume", "pause", "start", "fork"];
/// Words before the name of a task that are not part of it.
const NAME_PREFIXES: &[&str] = &["the task ", "task ", "the ", "my task ", "my "];
const NAME_SUFFIXES: &[&str] =
    &[" going", " doing", " fail", " task", " now", " stuck", " done yet"];

/// Detects the intent of a text.
pub(super) fn detect_intent(text: &str) -> ChatIntent {
    if let Some(command) = strip_any_prefix(text.trim(), &["/run "]) {
        return parse_bare_command(command.trim());
    }
    let text = strip_politeness(text.trim());
    if let Some(rest) = strip_any_prefix(text, &["submit to "]) {
        let parsed = parse_submission(rest);
        return parsed.map_or(ChatIntent::Unclear, |(repository, text)| ChatIntent::Submit {
            repository,
            text,
        });
    }
    if let Some(recurring) = parse_recurring(text) {
        return ChatIntent::Recurring(recurring);
    }
    let commands = explicit_commands(text);
    if !commands.is_empty() {
        return ChatIntent::RunCommands(commands);
    }
    if let Some(command) = strip_any_prefix(text, &["run:", "execute:"]) {
        return parse_bare_command(command.trim_matches('`').trim());
    }
    let plain = text.trim_end_matches(['?', '!', '.', ' ']);
    let listed =
        strip_any_prefix(plain, &["list ", "show me ", "show ", "give me "]).unwrap_or(plain);
    parse_list_question(&listed.to_lowercase())
        .or_else(|| parse_change(text))
        .unwrap_or_else(|| parse_task_question(plain))
}

/// An unquoted command: it is run at once, unless it may include a schedule.
fn parse_bare_command(command: &str) -> ChatIntent {
    if may_include_schedule(command) {
        return ChatIntent::Recurring(RecurringRequest::UnclearTiming);
    }
    ChatIntent::RunCommands(vec![command.to_owned()])
}

/// A question about all objects of a kind.
fn parse_list_question(lower: &str) -> Option<ChatIntent> {
    let is = |phrases: &[&str]| phrases.contains(&lower);
    if is(HELP) {
        return Some(ChatIntent::Help);
    }
    if is(PROJECTS) {
        return Some(ChatIntent::Projects);
    }
    if is(SCHEDULES) {
        return Some(ChatIntent::Schedules);
    }
    if is(NODES) {
        return Some(ChatIntent::Nodes);
    }
    if is(WAITING) {
        return Some(ChatIntent::Waiting);
    }
    if is(OVERVIEW) {
        return Some(ChatIntent::Overview);
    }
    parse_tasks_question(lower)
}

/// `parse_tasks_question`, `failed tasks`, `what is running`, `which tasks failed`.
fn parse_tasks_question(lower: &str) -> Option<ChatIntent> {
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
    (is_about_tasks || (status.is_some() && words.len() > 1)).then_some(ChatIntent::Tasks(status))
}

/// A request for a change.
fn parse_change(text: &str) -> Option<ChatIntent> {
    if let Some(rest) = strip_any_prefix(text, &["answer "]) {
        return Some(parse_answer(rest));
    }
    if let Some(rest) = strip_any_prefix(text, &["decline "]) {
        return Some(task_intent("decline", rest, TaskIntent::Decline));
    }
    if let Some(rest) = parse_task_description(text) {
        return Some(ChatIntent::CreateTask(rest));
    }
    if let Some(rest) = strip_any_prefix(text, CREATE_PROJECT) {
        let name = rest.trim_start_matches(':').trim().trim_matches(['"', '`', '.']).to_owned();
        return Some(if name.is_empty() {
            ChatIntent::Incomplete("create project")
        } else {
            ChatIntent::CreateProject(name)
        });
    }
    if let Some(rest) = strip_any_prefix(text, CANCEL) {
        return Some(task_intent("cancel", rest, TaskIntent::Cancel));
    }
    let (verb, rest) = PEOPLE_ONLY
        .iter()
        .find_map(|verb| Some((*verb, strip_any_prefix(text, &[verb])?.strip_prefix(' ')?)))?;
    Some(task_intent(verb, rest, TaskIntent::PeopleOnly(verb)))
}

/// A question about one task.
fn parse_task_question(plain: &str) -> ChatIntent {
    for (heads, wish) in
        [(RUNS_OF, TaskIntent::Runs), (LOGS_OF, TaskIntent::Logs), (STATUS_OF, TaskIntent::Status)]
    {
        if let Some(rest) = strip_any_prefix(plain, heads) {
            let task = parse_task_name(rest);
            // A name is short: a whole sentence is not about one task.
            if !task.is_empty() && task.split_whitespace().count() <= 6 {
                return ChatIntent::AboutTask(wish, task);
            }
        }
    }
    let lower = plain.to_lowercase();
    let verbs = PEOPLE_ONLY.iter().chain(&["cancel", "decline", "answer"]);
    verbs
        .into_iter()
        .find(|verb| **verb == lower)
        .map_or(ChatIntent::Unclear, |verb| ChatIntent::Incomplete(verb))
}

/// Parses `answer NAME with …` and `answer NAME: …`; the answer `no` declines.
fn parse_answer(rest: &str) -> ChatIntent {
    let split = rest.split_once(" with ").or_else(|| rest.split_once(':'));
    let Some((task, reply)) = split else { return ChatIntent::Incomplete("answer") };
    let (task, reply) = (parse_task_name(task), reply.trim());
    if task.is_empty() || reply.is_empty() {
        return ChatIntent::Incomplete("answer");
    }
    match reply.to_lowercase().trim_end_matches('.') {
        "no" => return ChatIntent::AboutTask(TaskIntent::Decline, task),
        "yes" => return ChatIntent::AboutTask(TaskIntent::PeopleOnly("approve"), task),
        _ => {}
    }
    let marked = explicit_commands(&format!("run {reply}"));
    let lines = if marked.is_empty() { vec![reply.trim_matches('`').to_owned()] } else { marked };
    ChatIntent::AboutTask(TaskIntent::Answer(lines), task)
}

fn task_intent(verb: &'static str, rest: &str, wish: TaskIntent) -> ChatIntent {
    let task = parse_task_name(rest);
    if task.is_empty() || matches!(task.as_str(), "it" | "that" | "this") {
        ChatIntent::Incomplete(verb)
    } else {
        ChatIntent::AboutTask(wish, task)
    }
}

/// Returns the description after `create task`, `create task:` or `task:`.
fn parse_task_description(text: &str) -> Option<String> {
    let with_colon = |head: &&str| strip_any_prefix(text, &[&format!("{}:", head.trim_end())]);
    let rest = CREATE.iter().find_map(with_colon);
    let rest = rest
        .or_else(|| strip_any_prefix(text, CREATE_WITH_COLON))
        .or_else(|| strip_any_prefix(text, CREATE))?;
    let rest = rest.trim_start_matches(':').trim();
    (!rest.is_empty()).then(|| rest.to_owned())
}

/// Strips the words around the name of a task.
fn parse_task_name(text: &str) -> String {
    let mut text = text.trim().trim_end_matches(['?', '!', '.']);
    if let Some(rest) = strip_any_prefix(text, NAME_PREFIXES) {
        text = rest;
    }
    for ending in NAME_SUFFIXES {
        let cut = text.len().saturating_sub(ending.len());
        if text.get(cut..).is_some_and(|end| end.eq_ignore_ascii_case(ending)) {
            text = text.get(..cut).unwrap_or(text);
        }
    }
    text.trim().trim_matches(['"', '\'', '`']).trim().to_owned()
}

fn strip_politeness(mut text: &str) -> &str {
    while let Some(rest) = strip_any_prefix(text, POLITE) {
        text = rest.trim_start();
    }
    text
}

/// Returns the text after the first matching prefix, ignoring case.
pub(super) fn strip_any_prefix<'a>(text: &'a str, heads: &[&str]) -> Option<&'a str> {
    heads.iter().find_map(|head| {
        let begins = text.get(..head.len())?.eq_ignore_ascii_case(head);
        begins.then(|| text.get(head.len()..).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn about(wish: TaskIntent, name: String) -> ChatIntent {
        ChatIntent::AboutTask(wish, name)
    }

    fn text(words: &str) -> String {
        words.to_owned()
    }

    #[test]
    fn questions_are_understood_in_many_words() {
        for (request, wanted) in [
            ("help", ChatIntent::Help),
            ("Hello!", ChatIntent::Help),
            ("/help", ChatIntent::Help),
            ("What can you do?", ChatIntent::Help),
            ("list projects", ChatIntent::Projects),
            ("show me my projects", ChatIntent::Projects),
            ("tasks", ChatIntent::Tasks(None)),
            ("Which tasks are there?", ChatIntent::Tasks(None)),
            ("List all tasks", ChatIntent::Tasks(None)),
            ("show failed tasks", ChatIntent::Tasks(Some(ShownTaskStatus::Failed))),
            ("what is running?", ChatIntent::Tasks(Some(ShownTaskStatus::Running))),
            ("which tasks have failed", ChatIntent::Tasks(Some(ShownTaskStatus::Failed))),
            ("list runs", ChatIntent::Tasks(None)),
            ("nodes", ChatIntent::Nodes),
            ("list my schedules", ChatIntent::Schedules),
            ("How is it going?", ChatIntent::Overview),
            ("status", ChatIntent::Overview),
            ("What is waiting for me?", ChatIntent::Waiting),
            ("inbox", ChatIntent::Waiting),
            ("status of build-1", about(TaskIntent::Status, text("build-1"))),
            ("How is the task build-1 going?", about(TaskIntent::Status, text("build-1"))),
            ("why did build-1 fail?", about(TaskIntent::Status, text("build-1"))),
            ("show task \"build-1\"", about(TaskIntent::Status, text("build-1"))),
            ("task build-1", about(TaskIntent::Status, text("build-1"))),
            ("logs of build-1", about(TaskIntent::Logs, text("build-1"))),
            ("runs of build-1", about(TaskIntent::Runs, text("build-1"))),
        ] {
            assert_eq!(detect_intent(request), wanted, "{request}");
        }
    }

    #[test]
    fn changes_are_understood_only_where_they_are_asked_for() {
        for (request, wanted) in [
            ("create task: wash the car", ChatIntent::CreateTask(text("wash the car"))),
            ("Please create a task to wash the car", ChatIntent::CreateTask(text("wash the car"))),
            ("task: wash the car", ChatIntent::CreateTask(text("wash the car"))),
            (
                "Please submit to https://example.com/a.git: run `make` faster every day",
                ChatIntent::Submit {
                    repository: text("https://example.com/a.git"),
                    text: text("run `make` faster every day"),
                },
            ),
            ("submit to https://example.com/a.git faster", ChatIntent::Unclear),
            ("Could you add a task: sweep", ChatIntent::CreateTask(text("sweep"))),
            ("run `make test`", ChatIntent::RunCommands(vec![text("make test")])),
            (
                "run `make test` every blue moon",
                ChatIntent::Recurring(RecurringRequest::UnclearTiming),
            ),
            ("run: make test", ChatIntent::RunCommands(vec![text("make test")])),
            ("run: make clean every day", ChatIntent::Recurring(RecurringRequest::UnclearTiming)),
            ("/run make every 5 minutes", ChatIntent::Recurring(RecurringRequest::UnclearTiming)),
            ("run: `echo every day`", ChatIntent::RunCommands(vec![text("echo every day")])),
            ("/run make test", ChatIntent::RunCommands(vec![text("make test")])),
            ("$ make\n$ make test", ChatIntent::RunCommands(vec![text("make"), text("make test")])),
            ("create project Web Shop", ChatIntent::CreateProject(text("Web Shop"))),
            ("cancel build-1", about(TaskIntent::Cancel, text("build-1"))),
            ("stop the task build-1", about(TaskIntent::Cancel, text("build-1"))),
            ("cancel it", ChatIntent::Incomplete("cancel")),
            ("cancel", ChatIntent::Incomplete("cancel")),
            (
                "answer build-1 with `make`",
                about(TaskIntent::Answer(vec![text("make")]), text("build-1")),
            ),
            ("answer build-1: no", about(TaskIntent::Decline, text("build-1"))),
            ("answer build-1", ChatIntent::Incomplete("answer")),
            ("decline build-1", about(TaskIntent::Decline, text("build-1"))),
            ("approve build-1", about(TaskIntent::PeopleOnly("approve"), text("build-1"))),
            ("answer build-1: yes", about(TaskIntent::PeopleOnly("approve"), text("build-1"))),
            ("retry build-1", about(TaskIntent::PeopleOnly("retry"), text("build-1"))),
        ] {
            assert_eq!(detect_intent(request), wanted, "{request}");
        }
    }

    #[test]
    fn what_is_not_clear_changes_nothing() {
        for request in [
            "",
            "The car is dirty.",
            "I wonder whether we should cancel build-1",
            "rm -rf /",
            "Run the tests",
            "Tell me a joke about tasks that failed",
            "show me what you would do if every task of the project had failed",
        ] {
            assert_eq!(detect_intent(request), ChatIntent::Unclear, "{request}");
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

            let wanted = detect_intent(&text);
            let looks = matches!(wanted, ChatIntent::AboutTask(TaskIntent::Status | TaskIntent::Logs | TaskIntent::Runs, _));
            let is_change = matches!(
                wanted,
                ChatIntent::CreateTask(_)
                    | ChatIntent::CreateProject(_)
                    | ChatIntent::RunCommands(_)
                    | ChatIntent::AboutTask(..)
            ) && !looks;

            let begin = strip_politeness(text.trim()).to_lowercase();
            let has_verb = VERBS.iter().any(|verb| begin.starts_with(verb));
            prop_assert!(!is_change || has_verb, "{}", text);
        }

        #[test]
        fn what_stands_in_the_middle_of_a_sentence_is_no_request(words in "[a-z]{1,8}") {
            let sentence = format!("{words} said: cancel everything; create task: x");
            let is_change = matches!(
                detect_intent(&sentence),
                ChatIntent::AboutTask(TaskIntent::Cancel, _) | ChatIntent::CreateTask(_) | ChatIntent::RunCommands(_)
            );
            prop_assert!(!is_change || ["task", "todo"].contains(&words.as_str()), "{}", sentence);
        }
    }
}
