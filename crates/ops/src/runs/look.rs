//! Looking at runs as they stand.

use cynode_domain::ids::{RunId, TaskId};
use cynode_domain::job::Action;
use cynode_domain::plan::Plan;
use cynode_domain::run::{RunState, next_node};
use cynode_domain::status::TaskStatus;
use cynode_store::{
    Asked, LeaseStore, Place, QuestionStore, RunFilter, StandingRun, StandingStore, TaskStore, Tx,
    WorkflowStore,
};
use cynode_wire::page::Page;
use cynode_wire::runs::{
    LeaseView, ParentView, PlaceView, QuestionView, RunDetail, RunQuery, RunView, StepView,
};
use serde::Deserialize;
use serde_json::Value;

use super::{RunError, Runs, find};
use crate::paging::PageRequest;
use crate::workflow::WAITS_FOR_PLAN;
use crate::{Caller, projects, tasks};

impl Runs {
    /// A page of the runs the caller may see, newest first.
    pub async fn list(&self, caller: &Caller, query: RunQuery) -> Result<Page<RunView>, RunError> {
        let request = PageRequest::<RunId>::check(&query.page())?;
        let state = query.state.as_deref().map(str::parse::<RunState>).transpose();
        let state = state.map_err(|error| RunError::Invalid(vec![error.to_string()]))?;
        let (caller, before, limit) = (caller.clone(), request.before, request.fetch);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let task = match &query.task {
                        Some(wanted) => Some(tasks::find(tx, &caller, wanted).await?.asked.id),
                        None => None,
                    };
                    let project = match &query.project {
                        Some(wanted) => Some(projects::find(tx, &caller, wanted).await?.id),
                        None => None,
                    };
                    let created_by = caller.own();
                    let filter = RunFilter { created_by, task, project, state, before, limit };
                    Ok::<_, RunError>(tx.run_page(&filter).await?)
                })
            })
            .await?;
        Ok(request.page(found, |run| run.recorded.run.id.to_string(), view))
    }

    /// A run, by its id.
    pub async fn get(&self, caller: &Caller, run: RunId) -> Result<RunView, RunError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let found = tx.run_standing(run).await?;
                    let found = found.filter(|run| caller.may_see(run.task.created_by));
                    found.map(view).ok_or_else(|| RunError::NotFound(run.to_string()))
                })
            })
            .await
    }

    /// A run with the step it is at, what it asks and what it waits for.
    pub async fn show(&self, caller: &Caller, run: &str) -> Result<RunDetail, RunError> {
        let (caller, run) = (caller.clone(), run.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    let found = find(tx, &caller, &run).await?;
                    detail(tx, found).await
                })
            })
            .await
    }
}

/// All that is known of a run.
pub(super) async fn detail(tx: &mut Tx, found: StandingRun) -> Result<RunDetail, RunError> {
    let (id, task) = (found.recorded.run.id, found.recorded.run.task);
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
        Some(dependencies(tx, task).await?)
    } else if found.state == RunState::Running {
        said(tx, &found).await?
    } else {
        None
    };
    let mut run = view(found);
    run.waits_for = waiting_on.or(run.waits_for);
    Ok(RunDetail { run, step: state.and_then(step), question, summary, verification })
}

/// What the node that the run is in waits for, as its runner says with every renewal.
async fn said(tx: &mut Tx, run: &StandingRun) -> Result<Option<String>, RunError> {
    let node = run.place.as_ref().and_then(|place| next_node(&place.node, &place.edge));
    let said = tx.lease_waiting(run.recorded.run.task).await?;
    Ok(said.filter(|said| Some(said.node.as_str()) == node).map(|said| said.what))
}

/// A run as it is listed.
pub(super) fn view(found: StandingRun) -> RunView {
    let waits_for = waits_for(&found);
    let StandingRun { recorded, task, state, place, held, graph_version, parent, .. } = found;
    RunView {
        id: recorded.run.id,
        task_id: recorded.run.task,
        task_name: task.name,
        project_id: task.project,
        trace_id: recorded.run.trace,
        status: recorded.run.status,
        state,
        place: place.map(place_view),
        lease: held.map(|held| LeaseView {
            holder_id: held.holder,
            epoch: held.epoch,
            expires_at: held.expires_at,
        }),
        waits_for,
        graph_version,
        parent: parent.map(|(run_id, sequence)| ParentView { run_id, sequence }),
        created_at: recorded.created_at,
        started_at: recorded.started_at,
        ended_at: recorded.ended_at,
    }
}

fn place_view(place: Place) -> PlaceView {
    let node = next_node(&place.node, &place.edge).map(ToOwned::to_owned);
    PlaceView { sequence: place.sequence, last_node: place.node, edge: place.edge, node }
}

pub(super) fn question_view(asked: Asked) -> QuestionView {
    QuestionView {
        question: asked.question,
        asked_by: asked.asked_by,
        asked_at: asked.asked_at,
        answer_by: asked.answer_by,
        answer: asked.answer,
        answered_at: asked.answered_at,
    }
}

fn waits_for(run: &StandingRun) -> Option<String> {
    match run.state {
        RunState::Queued => Some(match &run.put_down {
            Some((reason, _)) if reason == WAITS_FOR_PLAN => {
                "a plan of the project manager".to_owned()
            }
            Some((reason, _)) => format!("a runner that can go on; the last could not: {reason}"),
            None => "a free runner".to_owned(),
        }),
        RunState::Waiting => Some("tasks that it depends on".to_owned()),
        RunState::Pausing => Some("the end of the node that it is in; then it pauses".to_owned()),
        RunState::Paused => Some("somebody to resume it".to_owned()),
        RunState::NeedsAnswer => Some("a person's answer".to_owned()),
        RunState::Running | RunState::Completed | RunState::Failed | RunState::Canceled => None,
    }
}

/// The tasks that a task still waits for, by name.
async fn dependencies(tx: &mut Tx, task: TaskId) -> Result<String, RunError> {
    let mut names = vec![];
    for id in tx.dependency_list(task).await? {
        if let Some(on) = tx.task_get(id).await?
            && on.status != TaskStatus::Completed
        {
            names.push(format!("{} ({})", on.asked.name, on.status.shown()));
        }
    }
    Ok(format!("tasks that it depends on: {}", names.join(", ")))
}

/// What the step is told from: the part of a run's state that says so.
#[derive(Deserialize)]
struct StepState {
    plan: Plan,
    #[serde(default)]
    current_step_index: u32,
    #[serde(default)]
    attempts_by_step: std::collections::BTreeMap<u32, u32>,
    #[serde(default)]
    bounds: Option<StepBounds>,
    #[serde(default)]
    job: Option<StepJob>,
}

#[derive(Deserialize)]
struct StepBounds {
    max_attempts: u32,
}

#[derive(Deserialize)]
struct StepJob {
    job_id: cynode_domain::ids::JobId,
    step_index: u32,
}

/// The step that a run with this state is at. States of a newer graph may say nothing of it.
fn step(state: Value) -> Option<StepView> {
    let state: StepState = serde_json::from_value(state).ok()?;
    let index = state.current_step_index;
    let at = state.plan.steps.get(usize::try_from(index).ok()?)?;
    let job = state.job.filter(|job| job.step_index == index);
    let attempt = state.attempts_by_step.get(&index).copied().unwrap_or(0);
    Some(StepView {
        index,
        of: u32::try_from(state.plan.steps.len()).unwrap_or(u32::MAX),
        action: describe(&at.action),
        attempt,
        // A step that was interrupted may run again beyond the attempts it has after a failure.
        max_attempts: state.bounds.map_or(1, |bounds| bounds.max_attempts).max(attempt),
        job_id: job.map(|job| job.job_id),
    })
}

/// An action in one line.
pub(super) fn describe(action: &Action) -> String {
    match action {
        Action::Command { line } => line.clone(),
        Action::Script { text } => {
            let first =
                text.lines().find(|line| !line.trim().is_empty() && !line.starts_with("#!"));
            format!("a script: {}", first.unwrap_or_default())
        }
    }
}
