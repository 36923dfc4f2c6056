//! A schedule came due: its tasks are made, once for each time it is due.

use cynode_domain::ids::TaskId;
use cynode_wire::handoff::{ActedAnswer, Handoff, ScheduledRunHandoff};
use cynode_wire::tasks::TaskView;
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
    let (mut made, mut names): (Vec<TaskId>, Vec<String>) = (vec![], vec![]);
    for (index, task) in due.tasks.iter().enumerate() {
        // The same schedule, time and place make one task, however often the work is handed over.
        let due = body.due_at.timestamp_micros();
        let key = format!("schedule/{}/{due}/{index}", body.schedule_id);
        let arguments = creation(task, &key);
        let task: TaskView = tools::call(work.tools.as_ref(), "db.task.create", arguments).await?;
        names.push(task.task_name);
        made.push(task.id);
    }
    let summary = if names.is_empty() {
        format!("{} makes no task this time: {}", body.schedule, due.reason)
    } else {
        format!("{} made {}", body.schedule, names.join(", "))
    };
    Ok(ActedAnswer { summary, tasks: made, decisions: work.decisions })
}

fn creation(task: &DueTask, key: &str) -> Value {
    let key: String = key.chars().take(200).collect();
    if task.commands.is_empty() {
        let (mode, prompt) = ("prompt", &task.prompt);
        return json!({ "task_name": task.name, "input_mode": mode, "prompt": prompt, "idempotency_key": key });
    }
    json!({
        "task_name": task.name, "input_mode": "commands", "commands": task.commands,
        "idempotency_key": key,
    })
}
