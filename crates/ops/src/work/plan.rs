//! Plans the work units of a task.

use chrono::{DateTime, Utc};
use cynode_domain::ids::TaskId;
use cynode_domain::status::WorkUnitStatus;
use cynode_domain::work::{WorkComponent, order_components};
use cynode_store::{Tx, WorkPlan, WorkUnit};
use cynode_wire::work::{CreatePlan, WorkQuery, WorkStatusView};

use super::board::WorkBoard;
use super::queries::read_status;
use super::{WorkError, WorkService, persist_board};
use crate::{messages::check_text, messages::lock_open_task};
use cynode_resources::Caller;
use cynode_resources::secrets::RedactSecrets as _;
use cynode_resources::signals::Topic;

impl WorkService {
    /// Creates the plan of a task; ready units are assigned at once. Idempotent for the same plan.
    pub async fn plan(
        &self,
        caller: &Caller,
        mut request: CreatePlan,
    ) -> Result<WorkStatusView, WorkError> {
        for component in &mut request.components {
            component.description = std::mem::take(&mut component.description).redact_secrets();
        }
        for component in &request.components {
            check_text("the description of a component", &component.description)?;
        }
        order_components(&request.components).map_err(WorkError::Invalid)?;
        let (caller, now) = (caller.clone(), self.clock.now());
        let made = self
            .store
            .write(move |tx| {
                Box::pin(async move {
                    let task = lock_open_task(tx, &caller, request.task_id).await?;
                    let plan = WorkPlan {
                        task: request.task_id,
                        issue_number: request.issue_number,
                        components: request.components,
                        created_at: now,
                        completed_at: None,
                    };
                    if let Some(board) = insert_plan(tx, &plan).await? {
                        persist_board(tx, &task, &board).await?;
                    }
                    read_status(tx, request.task_id, &WorkQuery::default()).await
                })
            })
            .await?;
        self.signals.send(Topic::Events);
        Ok(made)
    }
}

/// Stores the plan with its units; `None` if the task has the same plan already.
pub async fn insert_plan(tx: &mut Tx, plan: &WorkPlan) -> Result<Option<WorkBoard>, WorkError> {
    if let Some(before) = tx.work_plan_get(plan.task).await? {
        let is_same =
            before.components == plan.components && before.issue_number == plan.issue_number;
        return if is_same { Ok(None) } else { Err(WorkError::PlanExists) };
    }
    let ordered = order_components(&plan.components).map_err(WorkError::Invalid)?;
    let units = build_units(plan.task, &ordered, plan.created_at);
    if !tx.work_plan_insert(plan, &units).await? {
        return Err(WorkError::PlanExists);
    }
    let mut board = WorkBoard::new(plan.components.clone(), units, plan.created_at);
    board.advance()?;
    Ok(Some(board))
}

/// Builds the units of components, in executable order.
pub(super) fn build_units(
    task: TaskId,
    components: &[&WorkComponent],
    now: DateTime<Utc>,
) -> Vec<WorkUnit> {
    let mut units = vec![];
    for component in components {
        let kinds = component.kinds();
        for kind in &kinds {
            units.push(WorkUnit {
                task,
                id: kind.unit_id(&component.name),
                position: u32::try_from(units.len()).unwrap_or(u32::MAX),
                component: component.name.clone(),
                kind: *kind,
                status: WorkUnitStatus::Pending,
                role: kind.role().to_owned(),
                agent: None,
                parent: kind.parent(&kinds).map(|parent| parent.unit_id(&component.name)),
                artifact_path: None,
                summary: None,
                metadata: None,
                notes: None,
                revision_count: 0,
                revision_feedback: None,
                assigned_at: None,
                completed_at: None,
                updated_at: now,
            });
        }
    }
    units
}
