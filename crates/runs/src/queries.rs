//! Reading runs and their current state.

use cynode_domain::ids::{RunId, TaskId};
use cynode_domain::job::Action;
use cynode_domain::name_or_id::NameOrId;
use cynode_domain::run::{RunState, next_node};
use cynode_domain::status::TaskStatus;
use cynode_store::{Dependency, RunFilter, RunOverview, RunPosition, RunQuestion, Tx};
use cynode_wire::page::Page;
use cynode_wire::runs::{
    LeaseView, ParentView, PlaceView, QuestionView, RunDetail, RunQuery, RunView, StepView,
};
use cynode_workflow_state::WorkflowState;
use serde_json::Value;

use super::{RunError, RunQueries, find_shared_run};
use cynode_execution::tasks;
use cynode_execution::workflow::{NODE_PENDING_REASON, PLAN_PENDING_REASON};
use cynode_resources::paging::PageRequest;
use cynode_resources::{Caller, projects};

impl RunQueries {
    /// Returns a page of the runs that the caller may see, newest first.
    pub async fn list(&self, caller: &Caller, query: RunQuery) -> Result<Page<RunView>, RunError> {
        let request = PageRequest::<RunId>::parse(&query.page())?;
        let state = query.state.as_deref().map(str::parse::<RunState>).transpose();
        let state = state.map_err(|error| RunError::Invalid(vec![error.to_string()]))?;
        let (caller, before, limit) = (caller.clone(), request.before, request.fetch);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let task = match &query.task {
                        Some(name_or_id) => {
                            Some(tasks::find_shared(tx, &caller, &name_or_id.into()).await?)
                        }
                        None => None,
                    };
                    let project = match &query.project {
                        Some(name_or_id) => {
                            Some(projects::find_shared(tx, &caller, &name_or_id.into()).await?)
                        }
                        None => None,
                    };
                    // Everyone who sees a task or a project sees all of its runs.
                    let is_found = task.is_some() || project.is_some();
                    let created_by = if is_found { None } else { caller.own() };
                    let (task, project) =
                        (task.map(|task| task.spec.id), project.map(|project| project.id));
                    let filter = RunFilter { created_by, task, project, state, before, limit };
                    Ok::<_, RunError>(tx.run_page(&filter).await?)
                })
            })
            .await?;
        Ok(request.page(found, |run| run.record.run.id.to_string(), run_view))
    }

    /// Returns a run, by its id.
    pub async fn get(&self, caller: &Caller, run: RunId) -> Result<RunView, RunError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(
                    async move { Ok(run_view(find_shared_run(tx, &caller, &run.into()).await?)) },
                )
            })
            .await
    }

    /// Returns a run with its current step, its open question and what it waits for.
    pub async fn get_detail(
        &self,
        caller: &Caller,
        run: &NameOrId<RunId>,
    ) -> Result<RunDetail, RunError> {
        let (caller, run) = (caller.clone(), run.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let found = find_shared_run(tx, &caller, &run).await?;
                    load_detail(tx, found).await
                })
            })
            .await
    }
}

/// Loads the details of a run.
pub(super) async fn load_detail(tx: &mut Tx, found: RunOverview) -> Result<RunDetail, RunError> {
    let (id, task) = (found.record.run.id, found.record.run.task);
    let state = match tx.history_last(id).await? {
        Some(last) => tx.state_at(id, last.sequence).await?,
        None => None,
    };
    let is_newest = tx.run_of_task(task).await?.is_some_and(|newest| newest.id == id);
    let closed = tx.task_get(task).await?.filter(|_| is_newest);
    let verification = closed.as_ref().and_then(|task| task.verification);
    let summary = closed.and_then(|task| task.summary);
    let question = tx.question_last(id).await?.map(question_view);
    let waiting_on = if found.state == RunState::Waiting {
        Some(describe_dependencies(tx, task).await?)
    } else if found.state == RunState::Running {
        load_waiting_note(tx, &found).await?
    } else {
        None
    };
    let mut run = run_view(found);
    run.waits_for = waiting_on.or(run.waits_for);
    Ok(RunDetail { run, step: state.and_then(current_step), question, summary, verification })
}

/// What the current node waits for, as the runner reported with its last renewal.
async fn load_waiting_note(tx: &mut Tx, run: &RunOverview) -> Result<Option<String>, RunError> {
    let node = run.position.as_ref().and_then(|position| next_node(&position.node, &position.edge));
    let lease_wait = tx.lease_get_wait(run.record.run.task).await?;
    Ok(lease_wait
        .filter(|lease_wait| Some(lease_wait.node.as_str()) == node)
        .map(|lease_wait| lease_wait.reason))
}

/// Converts a run to its list view.
pub(super) fn run_view(found: RunOverview) -> RunView {
    let waits_for = describe_wait(&found);
    let RunOverview { record, task, state, position, lease, graph_version, parent, .. } = found;
    RunView {
        id: record.run.id,
        task_id: record.run.task,
        task_name: task.name,
        project_id: task.project,
        trace_id: record.run.trace,
        status: record.run.status,
        state,
        place: position.map(place_view),
        lease: lease.map(|lease| LeaseView {
            holder_id: lease.holder,
            epoch: lease.epoch,
            expires_at: lease.expires_at,
        }),
        waits_for,
        graph_version,
        parent: parent.map(|(run_id, sequence)| ParentView { run_id, sequence }),
        created_at: record.created_at,
        started_at: record.started_at,
        ended_at: record.ended_at,
    }
}

fn place_view(position: RunPosition) -> PlaceView {
    let node = next_node(&position.node, &position.edge).map(ToOwned::to_owned);
    PlaceView { sequence: position.sequence, last_node: position.node, edge: position.edge, node }
}

pub(super) fn question_view(request: RunQuestion) -> QuestionView {
    QuestionView {
        question: request.question,
        asked_by: request.asked_by,
        asked_at: request.asked_at,
        answer_by: request.answer_by,
        answer: request.answer,
        answered_at: request.answered_at,
    }
}

fn describe_wait(run: &RunOverview) -> Option<String> {
    match run.state {
        RunState::Queued => Some(match &run.suspension {
            Some((reason, _)) if reason == PLAN_PENDING_REASON => {
                "a plan from the project manager".to_owned()
            }
            Some((reason, _)) if reason == NODE_PENDING_REASON => "a worker node".to_owned(),
            Some((reason, _)) => {
                format!("a runner that can continue it; the last one could not: {reason}")
            }
            None => "a free runner".to_owned(),
        }),
        RunState::Waiting => Some("its dependencies".to_owned()),
        RunState::Pausing => Some("the current step to finish".to_owned()),
        RunState::Paused => Some("`cynork run resume`".to_owned()),
        RunState::NeedsAnswer => Some("your answer".to_owned()),
        RunState::Running | RunState::Completed | RunState::Failed | RunState::Canceled => None,
    }
}

/// Lists the open dependencies of a task, by name.
async fn describe_dependencies(tx: &mut Tx, task: TaskId) -> Result<String, RunError> {
    let open = |dependency: Dependency| match dependency.status {
        Some(TaskStatus::Completed) => None,
        Some(status) => Some(format!("{} ({})", dependency.name, status.to_shown())),
        None => Some(format!("{} (unreadable)", dependency.name)),
    };
    let names: Vec<_> = tx.dependencies_of(&[task]).await?.into_iter().filter_map(open).collect();
    Ok(format!("its dependencies: {}", names.join(", ")))
}

/// The current step of a run; `None` if the state, such as that of a newer graph, does not have one.
fn current_step(state: Value) -> Option<StepView> {
    let state: WorkflowState = serde_json::from_value(state).ok()?;
    let index = state.current_step_index;
    let at = state.current_step()?;
    let job = state.job.filter(|job| job.step_index == index);
    let attempt = state.attempts();
    Some(StepView {
        index,
        of: u32::try_from(state.plan.steps.len()).unwrap_or(u32::MAX),
        action: describe_action(&at.action),
        attempt,
        // An interrupted step may run more often than the limit for failures.
        max_attempts: state.bounds.max_attempts.max(attempt),
        job_id: job.map(|job| job.job_id),
    })
}

/// Describes an action in one line.
pub(super) fn describe_action(action: &Action) -> String {
    match action {
        Action::Command { line } => line.clone(),
        Action::Script { text } => {
            let first =
                text.lines().find(|line| !line.trim().is_empty() && !line.starts_with("#!"));
            format!("a script: {}", first.unwrap_or_default())
        }
        Action::Agent { prompt, .. } => format!("an agent: {prompt}"),
    }
}
