//! Reading tasks: lists, results, output, history.

use cynode_domain::ids::TaskId;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::status::{ShownTaskStatus, TaskStatus};
use cynode_store::{ListedProfiles, TaskFilter, Tx};
use cynode_wire::jobs::Stream;
use cynode_wire::page::Page;
use cynode_wire::tasks::{LogQuery, LogsView, ResultView, TaskQuery, TaskView, TransitionView};

use super::view::{load_public_status, view, views};
use super::{TaskError, TaskService, find_shared, load_job_views, step_checks};
use crate::workflow::job_creation::EXEC_STEP;
use cynode_resources::Caller;
use cynode_resources::paging::PageRequest;
use cynode_resources::projects;

impl TaskService {
    /// Returns a task, by id or name, with the checks that were applied to its steps.
    pub async fn get(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
    ) -> Result<TaskView, TaskError> {
        let (caller, task) = (caller.clone(), task.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let task = find_shared(tx, &caller, &task).await?;
                    let steps = step_checks::load_step_checks(tx, task.spec.id).await?;
                    Ok(TaskView { steps, ..view(tx, task).await? })
                })
            })
            .await
    }

    /// Counts the tasks of all users with this status.
    pub async fn count(&self, status: TaskStatus) -> Result<i64, TaskError> {
        self.store.read(move |tx| Box::pin(async move { Ok(tx.task_count(status).await?) })).await
    }

    /// Returns a page of the tasks that the caller may see, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        query: TaskQuery,
    ) -> Result<Page<TaskView>, TaskError> {
        self.list_in(caller, query, ListedProfiles::All).await
    }

    /// Same as [`Self::list`], of these profiles.
    pub async fn list_in(
        &self,
        caller: &Caller,
        query: TaskQuery,
        profiles: ListedProfiles,
    ) -> Result<Page<TaskView>, TaskError> {
        let request = PageRequest::<TaskId>::parse(&query.page())?;
        let status = query.status.map(TaskStatus::from);
        // `running` and `waiting` are both stored as running; the filter separates them.
        let awaits_answer = match status {
            Some(TaskStatus::Running) => Some(query.status == Some(ShownTaskStatus::Waiting)),
            Some(_) | None => None,
        };
        let (caller, before, limit) = (caller.clone(), request.before, request.fetch);
        let tasks = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let project = match &query.project {
                        Some(name_or_id) => {
                            Some(projects::find_shared(tx, &caller, &name_or_id.into()).await?)
                        }
                        None => None,
                    };
                    // Everyone who sees a project sees all of its tasks.
                    let created_by = if project.is_some() { None } else { caller.own() };
                    let project = project.map(|project| project.id);
                    let filter = TaskFilter {
                        created_by,
                        project,
                        profiles,
                        status,
                        awaits_answer,
                        before,
                        limit,
                    };
                    let tasks = tx.task_list(&filter).await?;
                    views(tx, tasks).await
                })
            })
            .await?;
        Ok(request.page(tasks, |task| task.id.to_string(), |task| task))
    }

    /// Returns the result of a task with its jobs.
    pub async fn result(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
    ) -> Result<ResultView, TaskError> {
        let (caller, task) = (caller.clone(), task.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let task = find_shared(tx, &caller, &task).await?;
                    Ok(ResultView {
                        task_id: task.spec.id,
                        status: load_public_status(tx, &task).await?,
                        summary: task.summary,
                        verification: task.verification,
                        steps: step_checks::load_step_checks(tx, task.spec.id).await?,
                        jobs: load_job_views(tx, task.spec.id).await?,
                    })
                })
            })
            .await
    }

    /// Returns the output of every job of a task so far, in execution order.
    pub async fn logs(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
        query: &LogQuery,
    ) -> Result<LogsView, TaskError> {
        let name_or_id = wanted_streams(query.stream.as_deref())?;
        let (caller, task) = (caller.clone(), task.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let task_id = find_shared(tx, &caller, &task).await?.spec.id;
                    let mut logs =
                        LogsView { task_id, stdout: String::new(), stderr: String::new() };
                    for stream in name_or_id {
                        let text = read_stream(tx, task_id, stream).await?;
                        match stream {
                            Stream::Stdout => logs.stdout = text,
                            Stream::Stderr => logs.stderr = text,
                        }
                    }
                    Ok(logs)
                })
            })
            .await
    }

    /// Returns every transition of the task's newest run, oldest first.
    pub async fn history(
        &self,
        caller: &Caller,
        task: &NameOrId<TaskId>,
    ) -> Result<Vec<TransitionView>, TaskError> {
        let (caller, task) = (caller.clone(), task.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let task = find_shared(tx, &caller, &task).await?;
                    let Some(run) = tx.run_of_task(task.spec.id).await? else {
                        return Ok(vec![]);
                    };
                    let history = tx.history_list(run.id).await?;
                    Ok(history.into_iter().map(crate::workflow::transition_view).collect())
                })
            })
            .await
    }
}

fn wanted_streams(word: Option<&str>) -> Result<Vec<Stream>, TaskError> {
    match word {
        None | Some("all") => Ok(Stream::ALL.to_vec()),
        Some("stdout") => Ok(vec![Stream::Stdout]),
        Some("stderr") => Ok(vec![Stream::Stderr]),
        Some(other) => {
            let fault = format!("stream is \"{other}\"; allowed are stdout, stderr, all");
            Err(TaskError::Invalid(vec![fault]))
        }
    }
}

/// Reads ended jobs from their result and running jobs from the log so far.
async fn read_stream(tx: &mut Tx, task: TaskId, stream: Stream) -> Result<String, TaskError> {
    let mut text = String::new();
    // Commands of the project manager in the workspace are not output of the task.
    for job in tx.job_list_before(task, EXEC_STEP).await? {
        let view = crate::workflow::job_view(job)?;
        match (view.result, stream) {
            (Some(result), Stream::Stdout) => text.push_str(&result.stdout),
            (Some(result), Stream::Stderr) => text.push_str(&result.stderr),
            (None, _) => {
                let so_far = tx.log_read(view.id, stream.as_str()).await?;
                text.push_str(&String::from_utf8_lossy(&so_far));
            }
        }
    }
    Ok(text)
}
