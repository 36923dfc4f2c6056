//! Creates the tasks of a schedule, once per due time.

use cynode_domain::ids::TaskId;
use cynode_wire::handoff::{ActedAnswer, Handoff, ScheduledRunHandoff};
use cynode_wire::tasks::TaskView;
use cynode_wire::tool_calls::{DbScheduleMakeTasks, NewTask};
use serde::Deserialize;

use crate::HandoffAgentError;
use crate::brain::decisions::{DueTask, InterpretSchedule};
use crate::session::HandoffSession;
use crate::tools;

/// Creates the tasks of a schedule.
pub(crate) async fn scheduled_run(
    mut work: HandoffSession,
    handoff: &Handoff<ScheduledRunHandoff>,
) -> Result<ActedAnswer, HandoffAgentError> {
    let body = &handoff.body;
    let (schedule, payload) = (body.schedule.clone(), body.payload.clone());
    let due = work.decide(&InterpretSchedule { schedule, payload }).await?;
    // One call creates all tasks: a retry may decide differently, and must not mix with a partial first result.
    let call = DbScheduleMakeTasks { tasks: due.tasks.iter().map(new_task).collect() };
    let made: CreatedTasks = tools::call_tool(work.tools.as_ref(), &call).await?;
    let (made, names): (Vec<TaskId>, Vec<String>) =
        made.items.into_iter().map(|task| (task.id, task.task_name)).unzip();
    let summary = if names.is_empty() {
        format!("{} created no task this time: {}", body.schedule, due.reason)
    } else {
        format!("{} created {}", body.schedule, names.join(", "))
    };
    Ok(ActedAnswer { summary, tasks: made, needs_person: None, decisions: work.decisions })
}

/// The tasks created now or by an earlier call for the same due time.
#[derive(Deserialize)]
struct CreatedTasks {
    items: Vec<TaskView>,
}

fn new_task(task: &DueTask) -> NewTask {
    let work = if task.commands.is_empty() {
        NewTask::from_prompt(task.prompt.clone())
    } else {
        NewTask::from_commands(task.commands.clone())
    };
    NewTask { task_name: Some(task.name.clone()), ..work }
}
