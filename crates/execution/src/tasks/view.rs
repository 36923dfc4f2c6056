//! Task views: a task with its run, its dependencies and what it waits for.

use std::collections::BTreeMap;

use cynode_domain::ids::{RunId, TaskId};
use cynode_domain::plan::InputMode;
use cynode_domain::status::{ShownTaskStatus, TaskStatus};
use cynode_store::{Dependency, NewestRun, Task, Tx};
use cynode_wire::tasks::TaskView;

use super::TaskError;
use super::awaited_node::load_awaited_nodes;

/// What a view shows of other rows than the task's own.
#[derive(Default)]
pub(super) struct TaskRelations {
    pub(super) depends_on: Vec<TaskId>,
    pub(super) run: Option<RunId>,
    /// The text of the open question.
    pub(super) question: Option<String>,
    pub(super) blocked_reason: Option<String>,
    /// The slug of the node that the task must run on.
    pub(super) node: Option<String>,
}

/// Loads the view of a task.
pub async fn view(tx: &mut Tx, task: Task) -> Result<TaskView, TaskError> {
    let id = task.spec.id.to_string();
    views(tx, vec![task]).await?.pop().ok_or(TaskError::NotFound(id))
}

/// Loads the views of tasks, in their order. The number of statements does not depend on the number of tasks.
pub async fn views(tx: &mut Tx, tasks: Vec<Task>) -> Result<Vec<TaskView>, TaskError> {
    let ids: Vec<TaskId> = tasks.iter().map(|task| task.spec.id).collect();
    let mut dependencies: BTreeMap<TaskId, Vec<Dependency>> = BTreeMap::new();
    for dependency in tx.dependencies_of(&ids).await? {
        dependencies.entry(dependency.task).or_default().push(dependency);
    }
    let newest = tx.newest_runs_of(&ids).await?;
    let mut runs: BTreeMap<TaskId, NewestRun> =
        newest.into_iter().map(|run| (run.task, run)).collect();
    let mut questions = load_open_questions(tx, &tasks, &runs).await?;

    let awaiting: Vec<TaskId> =
        tasks.iter().filter(|task| is_active(task)).map(|task| task.spec.id).collect();
    let mut awaited = load_awaited_nodes(tx, &tasks, &awaiting).await?;
    let required: Vec<_> = tasks.iter().filter_map(|task| task.spec.options.node).collect();
    let nodes = tx.node_summaries(&required).await?;

    let relate = |task: Task| {
        let id = task.spec.id;
        let (depends_on, run) = (dependencies.remove(&id).unwrap_or_default(), runs.remove(&id));
        let question = questions.remove(&id);
        let awaited = awaited.remove(&id);
        let required = task.spec.options.node.and_then(|node| nodes.get(&node));
        let relations = TaskRelations {
            blocked_reason: blocked_reason(
                &task,
                &depends_on,
                run.as_ref(),
                question.as_deref(),
                awaited,
            ),
            depends_on: depends_on.into_iter().map(|dependency| dependency.on).collect(),
            run: run.map(|run| run.id),
            question,
            node: required.map(|node| node.slug.clone()),
        };
        task_view(task, relations)
    };
    Ok(tasks.into_iter().map(relate).collect())
}

/// The view of a task whose relations are known.
pub(super) fn task_view(task: Task, relations: TaskRelations) -> TaskView {
    let status = public_status(&task, relations.question.as_deref());
    TaskView {
        id: task.spec.id,
        task_name: task.spec.name,
        status,
        closed: task.status.is_terminal(),
        project_id: task.spec.project,
        profile_id: task.spec.profile_id,
        run_id: relations.run,
        input_mode: task.spec.input_mode,
        prompt: task.spec.prompt,
        commands: task.spec.commands,
        acceptance_criteria: task.spec.acceptance_criteria,
        step_criteria: task.spec.options.step_criteria,
        depends_on: relations.depends_on,
        blocked_reason: relations.blocked_reason,
        repository: task.spec.options.repository,
        builds_on: task.spec.options.builds_on,
        parent_task_id: task.parent.as_ref().map(|parent| parent.task),
        work_unit_id: task.parent.map(|parent| parent.unit),
        node: relations.node,
        image: task.spec.options.image,
        agent: task.spec.options.agent.map(|agent| agent.profile.to_string()),
        summary: task.summary,
        verification: task.verification,
        steps: vec![],
        created_at: task.spec.created_at,
        updated_at: task.updated_at,
        started_at: task.started_at,
        ended_at: task.ended_at,
    }
}

/// The public status of a task: `waiting` while its run has an open question.
pub(super) async fn load_public_status(
    tx: &mut Tx,
    task: &Task,
) -> Result<ShownTaskStatus, TaskError> {
    let newest = tx.newest_runs_of(&[task.spec.id]).await?;
    let runs = newest.into_iter().map(|run| (run.task, run)).collect();
    let questions = load_open_questions(tx, std::slice::from_ref(task), &runs).await?;
    Ok(public_status(task, questions.get(&task.spec.id).map(String::as_str)))
}

fn public_status(task: &Task, question: Option<&str>) -> ShownTaskStatus {
    match question {
        Some(_) => ShownTaskStatus::Waiting,
        None => task.status.to_shown(),
    }
}

/// Whether a task is running and not paused.
fn is_active(task: &Task) -> bool {
    task.status == TaskStatus::Running && task.paused_at.is_none()
}

/// The texts of the open questions of active tasks.
async fn load_open_questions(
    tx: &mut Tx,
    tasks: &[Task],
    runs: &BTreeMap<TaskId, NewestRun>,
) -> Result<BTreeMap<TaskId, String>, TaskError> {
    let active = tasks.iter().filter(|task| is_active(task));
    let asking: Vec<RunId> =
        active.filter_map(|task| runs.get(&task.spec.id)).map(|run| run.id).collect();
    let open = tx.open_questions_of(&asking).await?;
    let of_runs = open.into_iter().map(|pending| (pending.task, pending.question.text));
    let requests: Vec<TaskId> = tasks
        .iter()
        .filter(|task| is_active(task) && task.spec.input_mode == InputMode::Request)
        .map(|task| task.spec.id)
        .collect();
    let of_requests = tx
        .requests_of(&requests)
        .await?
        .into_iter()
        .filter_map(|request| Some((request.task, request.question?.question.text)));
    Ok(of_runs.chain(of_requests).collect())
}

/// Why an open task does not advance.
fn blocked_reason(
    task: &Task,
    depends_on: &[Dependency],
    run: Option<&NewestRun>,
    question: Option<&str>,
    awaited: Option<String>,
) -> Option<String> {
    match (task.status, run) {
        (TaskStatus::Pending | TaskStatus::Running, _) if task.paused_at.is_some() => {
            Some("it is paused".to_owned())
        }
        (TaskStatus::Pending, _) => describe_blocking_dependency(depends_on),
        (TaskStatus::Running, run) => question
            .map(|text| format!("waiting for your answer: {text}"))
            .or_else(|| run.and_then(|run| run.suspend_reason.clone()))
            .or(awaited),
        _ => None,
    }
}

/// Describes the first dependency that closed without completing.
fn describe_blocking_dependency(depends_on: &[Dependency]) -> Option<String> {
    depends_on.iter().find_map(|dependency| {
        let status = dependency.status.filter(|status| status.is_terminal())?;
        let is_failed = status != TaskStatus::Completed;
        is_failed.then(|| {
            format!("it depends on \"{}\", which is {}", dependency.name, status.to_shown())
        })
    })
}
