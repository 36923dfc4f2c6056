//! Shared by the schedule tools: which schedules a caller may reach.

use cynode_domain::ids::ScheduleId;
use cynode_domain::policy::Principal;
use cynode_wire::schedules::ScheduleView;

use crate::tools::ToolContext;
use crate::tools::ToolFault;

/// Loads a schedule that the caller may reach: the user's own, and of its project if the caller is
/// bound to one. A caller with authority over a single task reaches no schedule.
pub(super) async fn load_reachable_schedule(
    context: &ToolContext,
    schedule: ScheduleId,
) -> Result<ScheduleView, ToolFault> {
    let found = context.services.schedules.get(&context.identity.caller, &schedule.into()).await?;
    let is_elsewhere =
        context.call_scope.project.is_some_and(|project| project != found.project_id);
    if is_elsewhere || is_limited_to_task(context) {
        return Err(ToolFault::not_found(format!("there is no schedule \"{schedule}\"")));
    }
    Ok(found)
}

/// Whether the caller's authority is limited to a task: an analyst's always is.
pub(super) fn is_limited_to_task(context: &ToolContext) -> bool {
    context.identity.task.is_some() || context.identity.agent == Principal::PA
}
