//! Answering by rule: live state through tools, and only what was clearly asked for.

use std::collections::BTreeMap;

use cynode_domain::ids::RunId;
use cynode_domain::status::ShownTaskStatus as Status;
use cynode_wire::apmas::MessageView;
use cynode_wire::nodes::NodeView;
use cynode_wire::page::Page;
use cynode_wire::projects::ProjectView;
use cynode_wire::runs::{RunDetail, RunView};
use cynode_wire::tasks::{CanceledView, LogsView, TaskView};
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::{Value, json};

use super::desk::Desk;
use super::find::{self, Found};
use super::intent::{Intent, Wish};
use super::recurring::Recurring;
use super::{schedules, show};
use crate::AgentError;
use crate::context::untrusted::inline;

/// How many runs are looked at at once.
const AT_ONCE: usize = 8;

/// What can be said, for people.
pub(super) const HELP: &str = "I answer from what is on record, and do what you ask for:

- `tasks`, `failed tasks`, `what is running?`, `projects`, `nodes`, `status`
- `status of NAME`, `logs of NAME`, `runs of NAME`
- `what is waiting for me?`, `answer NAME with COMMANDS`, `decline NAME`
- `create task: WHAT IS TO BE DONE`, `run: COMMAND`, `create project NAME`
- ``every day at 3 run `COMMAND` ``, `schedules`
- `cancel NAME`
";

/// A list as some tools give it.
#[derive(Deserialize)]
struct Items<T> {
    items: Vec<T>,
}

/// Does what is wanted; what is said about it.
pub(super) async fn act(desk: &Desk<'_>, intent: &Intent) -> Result<String, AgentError> {
    match intent {
        Intent::Help => Ok(HELP.to_owned()),
        Intent::Unclear => Ok(format!(
            "I did nothing: without a model that answers I do not understand that. To have it done, say \
             `create task: …`.\n\n{HELP}"
        )),
        Intent::Incomplete(verb) => {
            Ok(format!("Which task? Say `{verb} NAME`; `tasks` lists names.\n"))
        }
        Intent::Projects => projects(desk).await,
        Intent::Tasks(status) => tasks(desk, *status).await,
        Intent::Nodes => nodes(desk).await,
        Intent::Overview => overview(desk).await,
        Intent::Waiting => waiting(desk).await,
        Intent::CreateTask(prompt) => {
            create(desk, json!({ "input_mode": "prompt", "prompt": prompt })).await
        }
        Intent::RunCommands(lines) => {
            create(desk, json!({ "input_mode": "commands", "commands": lines })).await
        }
        Intent::Recurring(Recurring::Clear { pace, commands }) => {
            schedules::create(desk, pace, commands).await
        }
        Intent::Recurring(Recurring::WhenUnclear) => Ok(
            "I did nothing: it is not clear to me when that is to run. Say it like ``every day at 3 run \
             `COMMAND` `` or ``run `COMMAND` every 15 minutes``; `cynork schedule create --help` shows more. \
             What is to run once and now is enclosed too: ``run `COMMAND` ``.\n"
                .to_owned(),
        ),
        Intent::Schedules => schedules::list(desk).await,
        Intent::CreateProject(name) => create_project(desk, name).await,
        Intent::About(wish, name) => match find::task(desk, name).await? {
            Found::One(task) => about(desk, wish, &task).await,
            Found::None => {
                Ok(format!("There is no task {}; `tasks` lists names.\n", show::code(name)))
            }
            Found::Several(names) => {
                let names: Vec<String> = names.iter().map(|name| show::code(name)).collect();
                Ok(show::list("Which of these?", &names, ""))
            }
        },
    }
}

/// What is wanted of one task.
async fn about(desk: &Desk<'_>, wish: &Wish, task: &TaskView) -> Result<String, AgentError> {
    match wish {
        Wish::Logs => {
            let logs: LogsView = desk.read("db.task.logs", json!({ "task_id": task.id })).await?;
            Ok(show::logs(&task.task_name, &logs))
        }
        Wish::Runs => {
            let arguments = json!({ "task_id": task.id });
            let runs: Page<RunView> = desk.read("db.run.list", arguments).await?;
            let lines: Vec<String> = runs.items.iter().map(show::run_line).collect();
            let heading = format!("Runs of {}, newest first:", show::code(&task.task_name));
            Ok(show::list(&heading, &lines, "It has no run yet."))
        }
        Wish::Cancel => cancel(desk, task).await,
        Wish::Answer(lines) => answer(desk, task, lines).await,
        Wish::Decline => answer(desk, task, &[]).await,
        Wish::ForPeople(verb) => for_people(desk, verb, task).await,
        Wish::Status => Ok(show::task(task, run_of(desk, task).await?.as_ref())),
    }
}

async fn projects(desk: &Desk<'_>) -> Result<String, AgentError> {
    let projects: Page<ProjectView> = desk.read("db.project.list", json!({})).await?;
    let lines: Vec<String> = projects.items.iter().map(show::project_line).collect();
    if let [one] = &lines[..] {
        // A conversation sees its own project only; that there are no others is not known here.
        return Ok(format!(
            "This conversation is in the project {one}\n\n`cynork project list` lists all of yours.\n"
        ));
    }
    Ok(show::list("Projects, newest first:", &lines, "There is no project yet."))
}

async fn tasks(desk: &Desk<'_>, status: Option<Status>) -> Result<String, AgentError> {
    let arguments =
        status.map_or_else(|| json!({ "limit": 20 }), |s| json!({ "limit": 20, "status": s }));
    let page: Page<TaskView> = desk.read("db.task.list", arguments).await?;
    let lines: Vec<String> = page.items.iter().map(show::task_line).collect();
    let kind = status.map(|status| format!(" that are {status}")).unwrap_or_default();
    let more = if page.next_cursor.is_some() { "The 20 newest tasks" } else { "Tasks" };
    Ok(show::list(
        &format!("{more}{kind}, newest first:"),
        &lines,
        &format!("There are no tasks{kind}."),
    ))
}

async fn nodes(desk: &Desk<'_>) -> Result<String, AgentError> {
    let nodes: Items<NodeView> = desk.read("node.list", json!({})).await?;
    let lines: Vec<String> = nodes.items.iter().map(show::node_line).collect();
    Ok(show::list("Worker nodes:", &lines, "No worker node has joined."))
}

async fn overview(desk: &Desk<'_>) -> Result<String, AgentError> {
    let page: Page<TaskView> = desk.read("db.task.list", json!({ "limit": 200 })).await?;
    let count = |status| page.items.iter().filter(|task| task.status == status).count();
    let told = [
        Status::Running,
        Status::Waiting,
        Status::Queued,
        Status::Completed,
        Status::Failed,
        Status::Canceled,
    ];
    let figures: Vec<String> =
        told.into_iter().map(|status| format!("{} {status}", count(status))).collect();
    let of = if page.next_cursor.is_some() { "Of the 200 newest tasks" } else { "Of your tasks" };
    Ok(format!("{of}: {}.\n\n{}", figures.join(", "), waiting(desk).await?))
}

/// Questions of runs, tasks that will not go on by themselves, and messages of agents that a person answers.
async fn waiting(desk: &Desk<'_>) -> Result<String, AgentError> {
    let (mut lines, mut names) = (Vec::new(), BTreeMap::new());
    for status in [Status::Waiting, Status::Running, Status::Queued] {
        let arguments = json!({ "status": status, "limit": 50 });
        let page: Page<TaskView> = desk.read("db.task.list", arguments).await?;
        let mut runs = Vec::new();
        for some in page.items.chunks(AT_ONCE) {
            let mut looks = Vec::new();
            for task in some {
                looks.push(run_of(desk, task));
            }
            runs.extend(join_all(looks).await);
        }
        for (task, run) in page.items.iter().zip(runs) {
            let name = show::code(&task.task_name);
            names.insert(task.id, task.task_name.clone());
            let run = run?;
            if let Some(question) = run.as_ref().and_then(show::question) {
                let question = inline(question);
                lines.push(format!("{name} asks: {question}"));
            } else if let Some(reason) = &task.blocked_reason {
                lines.push(format!("{name} stands still: {}", show::code(reason)));
            }
        }
    }
    let arguments = json!({ "waiting_for_person": true, "oldest_first": true, "limit": 50 });
    let messages: Page<MessageView> = desk.read("db.message.list", arguments).await?;
    for message in &messages.items {
        let name = names.get(&message.task_id).cloned();
        lines.push(show::message_line(message, name.as_deref()));
    }
    if messages.next_cursor.is_some() {
        lines.push("and more: `cynork inbox list` lists all".to_owned());
    }
    Ok(show::list("Waiting for you:", &lines, "Nothing is waiting for you."))
}

async fn run_of(desk: &Desk<'_>, task: &TaskView) -> Result<Option<RunDetail>, AgentError> {
    let Some(run) = task.run_id else { return Ok(None) };
    desk.read("db.run.get", json!({ "run_id": run })).await.map(Some)
}

async fn create(desk: &Desk<'_>, arguments: Value) -> Result<String, AgentError> {
    let task: TaskView = desk.act("db.task.create", arguments, "created a task").await?;
    let name = show::code(&task.task_name);
    let ask = show::code(&format!("status of {}", task.task_name));
    Ok(format!(
        "I created the task {name} (id {}). It starts by itself; say {ask} to see how it goes.\n",
        task.id
    ))
}

async fn create_project(desk: &Desk<'_>, name: &str) -> Result<String, AgentError> {
    let arguments = json!({ "display_name": name });
    let made: ProjectView = desk.act("db.project.create", arguments, "created a project").await?;
    Ok(format!("I created the project {} (id {}).\n", show::code(&made.slug), made.id))
}

async fn cancel(desk: &Desk<'_>, task: &TaskView) -> Result<String, AgentError> {
    let name = show::code(&task.task_name);
    if task.closed {
        return Ok(format!("I did nothing: {name} is {} already.\n", task.status));
    }
    let arguments = json!({ "task_id": task.id });
    let canceled: CanceledView = desk.act("db.task.cancel", arguments, "canceled a task").await?;
    let more = match canceled.cascaded.len() {
        0 => String::new(),
        n => format!(", and {n} tasks that depend on it"),
    };
    Ok(format!("I canceled {name}{more}.\n"))
}

async fn answer(desk: &Desk<'_>, task: &TaskView, lines: &[String]) -> Result<String, AgentError> {
    let name = show::code(&task.task_name);
    let Some(run) = run_of(desk, task).await? else {
        return Ok(format!("I did nothing: {name} has no run that could ask.\n"));
    };
    if show::question(&run).is_none() {
        return Ok(format!("I did nothing: {name} asks nothing.\n"));
    }
    let id: RunId = run.run.id;
    let arguments = json!({ "run_id": id, "task_id": task.id, "commands": lines });
    let summary = if lines.is_empty() { "declined" } else { "answered" };
    let _: Value = desk.act("db.run.answer", arguments, summary).await?;
    let with = lines.iter().map(|line| show::code(line)).collect::<Vec<_>>().join(", ");
    Ok(if lines.is_empty() {
        format!("I declined what {name} asked for.\n")
    } else {
        format!("I answered {name} with {with}.\n")
    })
}

/// What agents may not do for people.
async fn for_people(desk: &Desk<'_>, verb: &str, task: &TaskView) -> Result<String, AgentError> {
    let name = show::code(&task.task_name);
    let state = show::task(task, run_of(desk, task).await?.as_ref());
    let how = match verb {
        "approve" => format!("Only you approve: `cynork run answer {name} --yes`"),
        "start" => {
            "A task starts by itself, as soon as what it depends on has completed".to_owned()
        }
        verb => format!("That is for you to do: `cynork run {verb} {name}`"),
    };
    Ok(format!("I did nothing. {how}.\n\n{state}"))
}
