//! Looking back at runs.

use cynode_domain::ids::RunId;
use cynode_store::{PastTransition, RecordedRun, RunStore, Store, TaskStore, Tx};
use cynode_wire::page::{Page, PageQuery};
use cynode_wire::runs::RunView;
use cynode_wire::tasks::TransitionView;

use crate::paging::PageRequest;
use crate::tasks::{self, TaskError};
use crate::{BadCursor, Caller};

/// Why a run was not shown.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is no such run, or the caller may not see it.
    #[error("there is no run {0}")]
    NotFound(RunId),
    /// The task was not found.
    #[error(transparent)]
    Task(#[from] TaskError),
    /// The page asked for cannot be given.
    #[error(transparent)]
    Page(#[from] BadCursor),
    /// The database does not answer.
    #[error(transparent)]
    Store(#[from] cynode_store::Error),
}

/// Runs. Cheap to clone.
#[derive(Clone)]
pub struct Runs {
    store: Store,
}

impl Runs {
    /// Runs kept in `store`.
    pub fn new(store: Store) -> Self {
        Self { store }
    }

    /// A page of the runs of a task, newest first.
    pub async fn list(
        &self,
        caller: &Caller,
        task: &str,
        query: &PageQuery,
    ) -> Result<Page<RunView>, RunError> {
        let request = PageRequest::<RunId>::check(query)?;
        let (before, fetch) = (request.before, request.fetch);
        let (caller, task) = (caller.clone(), task.to_owned());
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    let task = tasks::find(tx, &caller, &task).await?.asked.id;
                    Ok::<_, RunError>(tx.run_list(task, before, fetch).await?)
                })
            })
            .await?;
        Ok(request.page(found, |recorded| recorded.run.id.to_string(), view))
    }

    /// A run.
    pub async fn get(&self, caller: &Caller, run: RunId) -> Result<RunView, RunError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| Box::pin(async move { Ok(view(find(tx, &caller, run).await?)) }))
            .await
    }

    /// A page of the transitions of a run, oldest first, without the state after each.
    pub async fn history(
        &self,
        caller: &Caller,
        run: RunId,
        query: &PageQuery,
    ) -> Result<Page<TransitionView>, RunError> {
        let request = PageRequest::<i64>::check(query)?;
        let (caller, after, fetch) = (caller.clone(), request.before.unwrap_or(0), request.fetch);
        let found = self
            .store
            .read(move |tx| {
                Box::pin(async move {
                    find(tx, &caller, run).await?;
                    Ok::<_, RunError>(tx.history_page(run, after, fetch).await?)
                })
            })
            .await?;
        Ok(request.page(found, |past| past.sequence.to_string(), transition_view))
    }
}

/// A run, if the caller may see its task.
async fn find(tx: &mut Tx, caller: &Caller, id: RunId) -> Result<RecordedRun, RunError> {
    let found = tx.run_get(id).await?.ok_or(RunError::NotFound(id))?;
    let task = tx.task_get(found.run.task).await?;
    let may_see = task.is_some_and(|task| caller.may_see(task.asked.created_by));
    if may_see { Ok(found) } else { Err(RunError::NotFound(id)) }
}

fn view(recorded: RecordedRun) -> RunView {
    RunView {
        id: recorded.run.id,
        task_id: recorded.run.task,
        trace_id: recorded.run.trace,
        status: recorded.run.status,
        created_at: recorded.created_at,
        started_at: recorded.started_at,
        ended_at: recorded.ended_at,
    }
}

fn transition_view(past: PastTransition) -> TransitionView {
    TransitionView {
        sequence: past.sequence,
        node: past.node,
        edge: past.edge,
        step_index: past.step_index,
        job_id: past.job,
        duration_ms: past.duration_ms,
        recorded_at: past.recorded_at,
    }
}
