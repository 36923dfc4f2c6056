//! Shared by the schedule tools: which schedules a caller may reach.

use cynode_domain::ids::ScheduleId;
use cynode_domain::policy::{ErrorKind, Principal};
use cynode_wire::schedules::ScheduleView;
use cynode_wire::tasks::CreateTask;

use crate::tools::ToolContext;
use crate::tools::ToolFault;

/// Loads a schedule that the caller may reach: the user's own, and of its project if the caller is
/// bound to one. Agents reach schedules of default profiles only. A caller with authority over a single task reaches no
/// schedule.
pub(super) async fn load_reachable_schedule(
    context: &ToolContext,
    schedule: ScheduleId,
) -> Result<ScheduleView, ToolFault> {
    let (schedules, profiles) = (&context.services.schedules, context.listed_profiles());
    let caller = &context.identity.caller;
    let found = schedules.get_in(caller, &schedule.into(), profiles).await?;
    let is_elsewhere =
        context.call_scope.project.is_some_and(|project| project != found.project_id);
    if is_elsewhere || is_limited_to_task(context) {
        return Err(ToolFault::not_found(format!("there is no schedule \"{schedule}\"")));
    }
    Ok(found)
}

/// Rejects a task of an agent that works on the repository of another project, as `db.task.create` does: the agent would
/// learn address, branch and credential name of a project that is only shared with its user.
pub(super) fn check_project_repository(
    context: &ToolContext,
    task: &CreateTask,
) -> Result<(), ToolFault> {
    let wanted = task.project_repository.as_ref();
    let names_project = wanted.is_some_and(|wanted| wanted.project.is_some());
    if names_project && context.identity.agent != Principal::User {
        let why = "an agent schedules work on the repository of the schedule's project only: leave \
                   task.project_repository.project out, or name the repository in task.repository";
        return Err(ToolFault::new(ErrorKind::Forbidden, why));
    }
    Ok(())
}

/// Whether the caller's authority is limited to a task: an analyst's always is.
pub(super) fn is_limited_to_task(context: &ToolContext) -> bool {
    context.identity.task.is_some() || context.identity.agent == Principal::PA
}
