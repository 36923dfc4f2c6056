//! Reading work units.

use cynode_domain::ids::TaskId;
use cynode_domain::status::WorkUnitStatus as Status;
use cynode_store::{Tx, WorkUnit};
use cynode_wire::page::PageQuery;
use cynode_wire::work::{WorkFilter, WorkQuery, WorkStatusView, WorkUnitView};

use super::{WorkError, WorkService, view};
use crate::{messages::omit_long_json, messages::truncate_text};
use cynode_execution::tasks;
use cynode_resources::Caller;
use cynode_resources::paging::PageRequest;

impl WorkService {
    /// Returns the progress of a task's plan with a page of its units in plan order.
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
                    tasks::find_shared(tx, &caller, &task.into()).await?;
                    read_status(tx, task, &query).await
                })
            })
            .await
    }

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
                    tasks::find_shared(tx, &caller, &task.into()).await?;
                    let found = tx.work_unit_get(task, &id).await?;
                    found.map(view).ok_or(WorkError::NotFound(id))
                })
            })
            .await
    }
}

pub(super) async fn read_status(
    tx: &mut Tx,
    task: TaskId,
    query: &WorkQuery,
) -> Result<WorkStatusView, WorkError> {
    let page = PageQuery { limit: query.limit, cursor: query.cursor.clone() };
    let request = PageRequest::<u32>::parse(&page)?;
    let plan = tx.work_plan_get(task).await?.ok_or(WorkError::NoPlan)?;
    let units = tx.work_unit_list(task).await?;
    let count = |units: usize| u32::try_from(units).unwrap_or(u32::MAX);
    let total = count(units.len());
    let done = count(units.iter().filter(|unit| unit.status == Status::Completed).count());
    let is_shown = |unit: &WorkUnit| {
        filter_includes(query.filter, unit.status)
            && query.component.as_ref().is_none_or(|component| *component == unit.component)
            && request.before.is_none_or(|after| unit.position > after)
    };
    let wanted = units.into_iter().filter(is_shown).take(request.fetch as usize).collect();
    let page = request.page(wanted, |unit: &WorkUnit| unit.position.to_string(), brief_unit_view);
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

/// Truncates long texts of a unit.
fn brief_unit_view(unit: WorkUnit) -> WorkUnitView {
    let view = view(unit);
    WorkUnitView {
        summary: view.summary.as_deref().map(truncate_text),
        metadata: view.metadata.map(omit_long_json),
        notes: view.notes.as_deref().map(truncate_text),
        revision_feedback: view.revision_feedback.map(omit_long_json),
        ..view
    }
}

/// Returns whether the filter includes a status. Failed units are included in `All` only.
const fn filter_includes(filter: WorkFilter, status: Status) -> bool {
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
