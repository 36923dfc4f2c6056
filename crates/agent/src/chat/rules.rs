//! Answers a turn by rule: reads state through tools, and changes only what was clearly requested.

use std::collections::BTreeMap;

use cynode_domain::plan::InputMode;
use cynode_domain::status::ShownTaskStatus as Status;
use cynode_wire::apmas::{MessageQuery, MessageView};
use cynode_wire::nodes::NodeView;
use cynode_wire::page::{MAX_LIMIT, Page, PageQuery};
use cynode_wire::projects::{CreateProject, ProjectView};
use cynode_wire::runs::{RunDetail, RunView};
use cynode_wire::tasks::{CanceledView, LogQuery, LogsView, TaskView};
use cynode_wire::tool_calls::{
    DbMessageList, DbProjectCreate, DbProjectList, DbRunAnswer, DbRunGet, DbRunList, DbTaskCancel,
    DbTaskCreate, DbTaskList, DbTaskLogs, NewTask, NodeList,
};
use futures_util::future::join_all;
use serde::Deserialize;
use serde_json::Value;

use super::find_task::{self, TaskSearchResult};
use super::intent::{ChatIntent, TaskIntent};
use super::recurring::RecurringRequest;
use super::reported_tools::ReportedTools;
use super::{render, requests, schedules};
use crate::HandoffAgentError;
use crate::context::untrusted::inline;

/// The most runs that are loaded concurrently.
const AT_ONCE: usize = 8;
/// The most tasks in a list.
const SHOWN_TASKS: u32 = 20;
/// The most tasks of one status, and messages, that are searched for questions.
const WAITING_ITEMS: u32 = 50;

/// The help text.
pub(super) const HELP: &str = "I answer from what is on record, and do what you ask for:

- `tasks`, `failed tasks`, `what is running?`, `projects`, `nodes`, `status`
- `status of NAME`, `logs of NAME`, `runs of NAME`
- `what is waiting for me?`, `answer NAME with COMMANDS`, `decline NAME`
- `submit to REPOSITORY: WHAT IS TO BE CHANGED`: agents plan, implement, review and test it, and deliver a branch
- `create task: WHAT IS TO BE DONE`, `run: COMMAND`, `create project NAME`
- ``every day at 3 run `COMMAND` ``, `schedules`
- `cancel NAME`
";

/// The list format of some tools.
#[derive(Deserialize)]
struct ToolItems<T> {
    items: Vec<T>,
}

/// Executes an intent and returns the answer.
pub(super) async fn execute_intent(
    tools: &ReportedTools<'_>,
    intent: &ChatIntent,
) -> Result<String, HandoffAgentError> {
    match intent {
        ChatIntent::Help => Ok(HELP.to_owned()),
        ChatIntent::Unclear => Ok(format!(
            "I did nothing: I cannot understand that without a model. To have it done, say \
             `create task: …`.\n\n{HELP}"
        )),
        ChatIntent::Incomplete(verb) => {
            Ok(format!("Which task? Say `{verb} NAME`; `tasks` lists names.\n"))
        }
        ChatIntent::Projects => list_projects(tools).await,
        ChatIntent::Tasks(status) => list_tasks(tools, *status).await,
        ChatIntent::Nodes => list_nodes(tools).await,
        ChatIntent::Overview => render_overview(tools).await,
        ChatIntent::Waiting => list_waiting(tools).await,
        ChatIntent::CreateTask(prompt) => {
            create_task(tools, NewTask::from_prompt(prompt.clone())).await
        }
        ChatIntent::Submit { repository, text } => requests::submit(tools, repository, text).await,
        ChatIntent::RunCommands(lines) => {
            create_task(tools, NewTask::from_commands(lines.clone())).await
        }
        ChatIntent::Recurring(RecurringRequest::Clear { pace, commands }) => {
            schedules::create_schedule(tools, pace, commands).await
        }
        ChatIntent::Recurring(RecurringRequest::UnclearTiming) => Ok(
            "I did nothing: it is not clear when that should run. Say, for example, ``every day at 3 run \
             `COMMAND` `` or ``run `COMMAND` every 15 minutes``; `cynork schedule create --help` shows more. \
             To run a command once and now, say ``run `COMMAND` ``.\n"
                .to_owned(),
        ),
        ChatIntent::Schedules => schedules::list_schedules(tools).await,
        ChatIntent::CreateProject(name) => create_project(tools, name).await,
        ChatIntent::AboutTask(wish, name) => match find_task::find_task(tools, name).await? {
            TaskSearchResult::One(task) => execute_task_intent(tools, wish, &task).await,
            TaskSearchResult::None => {
                Ok(format!("There is no task {}; `tasks` lists names.\n", render::inline_code(name)))
            }
            TaskSearchResult::Several(names) => {
                let names: Vec<String> = names.iter().map(|name| render::inline_code(name)).collect();
                Ok(render::bullet_list("Which of these?", &names, ""))
            }
        },
    }
}

/// Executes a request about one task.
async fn execute_task_intent(
    tools: &ReportedTools<'_>,
    wish: &TaskIntent,
    task: &TaskView,
) -> Result<String, HandoffAgentError> {
    match wish {
        TaskIntent::Logs => {
            let call = DbTaskLogs { task_id: task.id, query: LogQuery::default() };
            let logs: LogsView = tools.read(&call).await?;
            Ok(render::log_excerpt(&task.task_name, &logs))
        }
        TaskIntent::Runs => {
            let call = DbRunList { task_id: task.id, page: PageQuery::default() };
            let runs: Page<RunView> = tools.read(&call).await?;
            let lines: Vec<String> = runs.items.iter().map(render::run_line).collect();
            let heading =
                format!("Runs of {}, newest first:", render::inline_code(&task.task_name));
            Ok(render::bullet_list(&heading, &lines, "It has no run yet."))
        }
        TaskIntent::Cancel => cancel_task(tools, task).await,
        TaskIntent::Answer(lines) => answer_question(tools, task, lines).await,
        TaskIntent::Decline => answer_question(tools, task, &[]).await,
        TaskIntent::PeopleOnly(verb) => explain_people_only(tools, verb, task).await,
        TaskIntent::Status => Ok(render::task_details(task, load_run(tools, task).await?.as_ref())),
    }
}

fn first_page(limit: u32) -> PageQuery {
    PageQuery { limit: Some(limit), cursor: None }
}

async fn list_projects(tools: &ReportedTools<'_>) -> Result<String, HandoffAgentError> {
    let projects: Page<ProjectView> = tools.read(&DbProjectList::default()).await?;
    let lines: Vec<String> = projects.items.iter().map(render::project_line).collect();
    if let [one] = &lines[..] {
        // A conversation can read its own project only; there may be others.
        return Ok(format!(
            "This conversation is in the project {one}\n\n`cynork project list` lists all of yours.\n"
        ));
    }
    Ok(render::bullet_list("Projects, newest first:", &lines, "There is no project yet."))
}

async fn list_tasks(
    tools: &ReportedTools<'_>,
    status: Option<Status>,
) -> Result<String, HandoffAgentError> {
    let call = DbTaskList { status, page: first_page(SHOWN_TASKS), ..DbTaskList::default() };
    let page: Page<TaskView> = tools.read(&call).await?;
    let lines: Vec<String> = page.items.iter().map(render::task_line).collect();
    let kind = status.map(|status| format!(" that are {status}")).unwrap_or_default();
    let more = if page.next_cursor.is_some() {
        format!("The {SHOWN_TASKS} newest tasks")
    } else {
        "Tasks".to_owned()
    };
    Ok(render::bullet_list(
        &format!("{more}{kind}, newest first:"),
        &lines,
        &format!("There are no tasks{kind}."),
    ))
}

async fn list_nodes(tools: &ReportedTools<'_>) -> Result<String, HandoffAgentError> {
    let nodes: ToolItems<NodeView> = tools.read(&NodeList {}).await?;
    let lines: Vec<String> = nodes.items.iter().map(render::node_line).collect();
    Ok(render::bullet_list("Worker nodes:", &lines, "No worker node has joined."))
}

async fn render_overview(tools: &ReportedTools<'_>) -> Result<String, HandoffAgentError> {
    let call = DbTaskList { page: first_page(MAX_LIMIT), ..DbTaskList::default() };
    let page: Page<TaskView> = tools.read(&call).await?;
    let count = |status| page.items.iter().filter(|task| task.status == status).count();
    let lines = [
        Status::Running,
        Status::Waiting,
        Status::Queued,
        Status::Completed,
        Status::Failed,
        Status::Canceled,
    ];
    let figures: Vec<String> =
        lines.into_iter().map(|status| format!("{} {status}", count(status))).collect();
    let of = if page.next_cursor.is_some() {
        format!("Of the {MAX_LIMIT} newest tasks")
    } else {
        "Of your tasks".to_owned()
    };
    Ok(format!("{of}: {}.\n\n{}", figures.join(", "), list_waiting(tools).await?))
}

/// Lists questions of runs, blocked tasks, and messages of agents that wait for a person.
async fn list_waiting(tools: &ReportedTools<'_>) -> Result<String, HandoffAgentError> {
    let (mut lines, mut names, mut has_requests) = (Vec::new(), BTreeMap::new(), false);
    for status in [Status::Waiting, Status::Running, Status::Queued] {
        let (status, page) = (Some(status), first_page(WAITING_ITEMS));
        let call = DbTaskList { status, page, ..DbTaskList::default() };
        let page: Page<TaskView> = tools.read(&call).await?;
        let mut runs = Vec::new();
        for some in page.items.chunks(AT_ONCE) {
            let mut looks = Vec::new();
            for task in some {
                looks.push(load_run(tools, task));
            }
            runs.extend(join_all(looks).await);
        }
        for (task, run) in page.items.iter().zip(runs) {
            let name = render::inline_code(&task.task_name);
            names.insert(task.id, task.task_name.clone());
            has_requests |= task.input_mode == InputMode::Request;
            let run = run?;
            if let Some(question) = run.as_ref().and_then(render::open_question) {
                let question = inline(question);
                lines.push(format!("{name} asks: {question}"));
            } else if let Some(reason) = &task.blocked_reason {
                lines.push(format!("{name} is blocked: {}", render::inline_code(reason)));
            }
        }
    }
    if has_requests {
        lines.extend(requests::waiting_lines(tools).await?);
    }
    let query = MessageQuery {
        waiting_for_person: true,
        oldest_first: true,
        limit: Some(WAITING_ITEMS),
        ..MessageQuery::default()
    };
    let call = DbMessageList { query, ..DbMessageList::default() };
    let messages: Page<MessageView> = tools.read(&call).await?;
    for message in &messages.items {
        let name = names.get(&message.task_id).cloned();
        lines.push(render::message_line(message, name.as_deref()));
    }
    if messages.next_cursor.is_some() {
        lines.push("and more: `cynork inbox list` lists all".to_owned());
    }
    Ok(render::bullet_list("Waiting for you:", &lines, "Nothing is waiting for you."))
}

async fn load_run(
    tools: &ReportedTools<'_>,
    task: &TaskView,
) -> Result<Option<RunDetail>, HandoffAgentError> {
    let Some(run_id) = task.run_id else { return Ok(None) };
    tools.read(&DbRunGet { run_id, task_id: None }).await.map(Some)
}

async fn create_task(
    tools: &ReportedTools<'_>,
    task: NewTask,
) -> Result<String, HandoffAgentError> {
    let task: TaskView = tools.call(&DbTaskCreate::from(task), "created a task").await?;
    let name = render::inline_code(&task.task_name);
    let ask = render::inline_code(&format!("status of {}", task.task_name));
    Ok(format!(
        "I created the task {name} (id {}). It starts automatically; say {ask} to see its status.\n",
        task.id
    ))
}

async fn create_project(
    tools: &ReportedTools<'_>,
    name: &str,
) -> Result<String, HandoffAgentError> {
    let project = CreateProject {
        display_name: name.to_owned(),
        description: String::new(),
        ..<_>::default()
    };
    let made: ProjectView = tools.call(&DbProjectCreate(project), "created a project").await?;
    Ok(format!("I created the project {} (id {}).\n", render::inline_code(&made.slug), made.id))
}

async fn cancel_task(
    tools: &ReportedTools<'_>,
    task: &TaskView,
) -> Result<String, HandoffAgentError> {
    let name = render::inline_code(&task.task_name);
    if task.closed {
        return Ok(format!("I did nothing: {name} is {} already.\n", task.status));
    }
    let call = DbTaskCancel { task_id: task.id };
    let canceled: CanceledView = tools.call(&call, "canceled a task").await?;
    let more = match canceled.cascaded.len() {
        0 => String::new(),
        n => format!(", and {n} tasks that depend on it"),
    };
    Ok(format!("I canceled {name}{more}.\n"))
}

async fn answer_question(
    tools: &ReportedTools<'_>,
    task: &TaskView,
    lines: &[String],
) -> Result<String, HandoffAgentError> {
    if task.input_mode == InputMode::Request {
        let text = (!lines.is_empty()).then(|| lines.join("\n"));
        return requests::answer(tools, task, text).await;
    }
    let name = render::inline_code(&task.task_name);
    let Some(run) = load_run(tools, task).await? else {
        return Ok(format!("I did nothing: {name} has no run.\n"));
    };
    if render::open_question(&run).is_none() {
        return Ok(format!("I did nothing: {name} has no open question.\n"));
    }
    let call = DbRunAnswer {
        run_id: run.run.id,
        task_id: Some(task.id),
        commands: lines.to_vec(),
        comment: None,
    };
    let summary = if lines.is_empty() { "declined" } else { "answered" };
    let _: Value = tools.call(&call, summary).await?;
    let with = lines.iter().map(|line| render::inline_code(line)).collect::<Vec<_>>().join(", ");
    Ok(if lines.is_empty() {
        format!("I declined what {name} asked for.\n")
    } else {
        format!("I answered {name} with {with}.\n")
    })
}

/// Explains how the user performs an action reserved for people.
async fn explain_people_only(
    tools: &ReportedTools<'_>,
    verb: &str,
    task: &TaskView,
) -> Result<String, HandoffAgentError> {
    let name = render::inline_code(&task.task_name);
    let state = render::task_details(task, load_run(tools, task).await?.as_ref());
    let how = match verb {
        "approve" if task.input_mode == InputMode::Request => {
            format!("Only you can approve: `cynork pm answer {name} --yes`")
        }
        "approve" => format!("Only you can approve: `cynork run answer {name} --yes`"),
        "start" => "A task starts automatically once its dependencies have completed".to_owned(),
        verb => format!("Only you can do that: `cynork run {verb} {name}`"),
    };
    Ok(format!("I did nothing. {how}.\n\n{state}"))
}
