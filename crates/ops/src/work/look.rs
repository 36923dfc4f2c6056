//! Looking at units of work.

use cynode_domain::ids::TaskId;
use cynode_domain::status::WorkUnitStatus as Status;
use cynode_store::{Tx, WorkStore, WorkUnit};
use cynode_wire::page::PageQuery;
use cynode_wire::work::{WorkFilter, WorkQuery, WorkStatusView, WorkUnitView};

use super::{Work, WorkError, view};
use crate::Caller;
use crate::messages::{brief_json, brief_text};
use crate::paging::PageRequest;
use crate::tasks;

impl Work {
    /// How far the plan of a task is, with a page of its units in the order of the plan.
    pub async fn status(
        &self,
        caller: &Caller,
        task: TaskId,
        query: WorkQuery,
    ) -> Result<WorkStatusView, WorkError> {
        let caller = caller.clone();
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    tasks::find(tx, &caller, &task.to_string()).await?;
                    status(tx, task, &query).await
                })
            })
            .await
    }

    /// One unit.
    pub async fn get(
        &self,
        caller: &Caller,
        task: TaskId,
        id: &str,
    ) -> Result<WorkUnitView, WorkError> {
        let (caller, id) = (caller.clone(), id.to_owned());
        self.store
            .read(move |tx| {
                Box::pin(async move {
                    tasks::find(tx, &caller, &task.to_string()).await?;
                    let found = tx.work_unit_get(task, &id).await?;
                    found.map(view).ok_or(WorkError::NotFound(id))
                })
            })
            .await
    }
}

pub(super) async fn status(
    tx: &mut Tx,
    task: TaskId,
    query: &WorkQuery,
) -> Result<WorkStatusView, WorkError> {
    let page = PageQuery { limit: query.limit, cursor: query.cursor.clone() };
    let request = PageRequest::<u32>::check(&page)?;
    let plan = tx.work_plan_get(task).await?.ok_or(WorkError::NoPlan)?;
    let units = tx.work_unit_list(task).await?;
    let count = |units: usize| u32::try_from(units).unwrap_or(u32::MAX);
    let total = count(units.len());
    let done = count(units.iter().filter(|unit| unit.status == Status::Completed).count());
    let is_shown = |unit: &WorkUnit| {
        is_in(query.filter, unit.status)
            && query.component.as_ref().is_none_or(|component| *component == unit.component)
            && request.before.is_none_or(|after| unit.position > after)
    };
    let wanted = units.into_iter().filter(is_shown).take(request.fetch as usize).collect();
    let page = request.page(wanted, |unit: &WorkUnit| unit.position.to_string(), brief);
    Ok(WorkStatusView {
        task_id: task,
        total_work_units: total,
        completed_work_units: done,
        progress_percent: (done * 100).checked_div(total).unwrap_or(0),
        completed_at: plan.completed_at,
        items: page.items,
        next_cursor: page.next_cursor,
    })
}

/// A unit with long texts cut short.
fn brief(unit: WorkUnit) -> WorkUnitView {
    let view = view(unit);
    WorkUnitView {
        summary: view.summary.map(brief_text),
        metadata: view.metadata.map(brief_json),
        notes: view.notes.map(brief_text),
        revision_feedback: view.revision_feedback.map(brief_json),
        ..view
    }
}

/// Which filter shows a unit. What was given up is shown among all only.
const fn is_in(filter: WorkFilter, status: Status) -> bool {
    match filter {
        WorkFilter::All => true,
        WorkFilter::Pending => matches!(status, Status::Pending | Status::Assigned),
        WorkFilter::InProgress => {
            matches!(status, Status::InProgress | Status::RevisionRequested | Status::Blocked)
        }
        WorkFilter::Submitted => matches!(status, Status::Submitted),
        WorkFilter::Completed => {
            matches!(status, Status::Approved | Status::Routed | Status::Completed)
        }
    }
}
