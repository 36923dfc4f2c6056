//! A schedule came due: its tasks are made, once for each time it is due.

use cynode_domain::ids::TaskId;
use cynode_wire::handoff::{ActedAnswer, Handoff, ScheduledRunHandoff};
use cynode_wire::tasks::TaskView;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::AgentError;
use crate::brain::decisions::{DueTask, InterpretSchedule};
use crate::tools;
use crate::work::Work;

/// Makes the tasks that a schedule wants.
pub(crate) async fn scheduled_run(
    mut work: Work,
    handoff: &Handoff<ScheduledRunHandoff>,
) -> Result<ActedAnswer, AgentError> {
    let body = &handoff.body;
    let (schedule, payload) = (body.schedule.clone(), body.payload.clone());
    let due = work.think(&InterpretSchedule { schedule, payload }).await?;
    // All at once: another time the answer may be another one, and half of each would be made.
    let tasks: Vec<Value> = due.tasks.iter().map(creation).collect();
    let arguments = json!({ "tasks": tasks });
    let made: Made = tools::call(work.tools.as_ref(), "db.schedule.make_tasks", arguments).await?;
    let (made, names): (Vec<TaskId>, Vec<String>) =
        made.items.into_iter().map(|task| (task.id, task.task_name)).unzip();
    let summary = if names.is_empty() {
        format!("{} makes no task this time: {}", body.schedule, due.reason)
    } else {
        format!("{} made {}", body.schedule, names.join(", "))
    };
    Ok(ActedAnswer { summary, tasks: made, needs_person: None, decisions: work.decisions })
}

/// What the tool answers: what was made now, or what had been made before.
#[derive(Deserialize)]
struct Made {
    items: Vec<TaskView>,
}

fn creation(task: &DueTask) -> Value {
    if task.commands.is_empty() {
        let (mode, prompt) = ("prompt", &task.prompt);
        return json!({ "task_name": task.name, "input_mode": mode, "prompt": prompt });
    }
    json!({ "task_name": task.name, "input_mode": "commands", "commands": task.commands })
}
