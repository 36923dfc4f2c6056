//! `db.schedule.make_tasks`

use cynode_domain::policy::{ErrorKind, ToolScope};
use cynode_wire::tasks::CreateTask;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read};

/// How many tasks one due time makes at most.
const MAX_TASKS: usize = 10;

/// The tasks of a schedule that came due.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.schedule.make_tasks",
    title: "Make the tasks of a schedule that came due",
    description: "Makes all tasks that a schedule wants this time, at once and once: where they were made before, those are given. For whoever was handed a schedule that came due.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    let task = object(
        &[],
        json!({
            "task_name": text("A name for the task; made from the request when absent.", 200),
            "input_mode": { "enum": ["prompt", "script", "commands"], "description": "prompt when absent." },
            "prompt": text("The request in prose, or the text of the script.", 1_000_000),
            "commands": { "type": "array", "items": { "type": "string" }, "maxItems": 200 },
        }),
    );
    object(
        &["tasks"],
        json!({ "tasks": { "type": "array", "items": task, "maxItems": MAX_TASKS } }),
    )
}

fn output() -> Value {
    result(&["items"])
}

#[derive(Deserialize)]
struct Arguments {
    tasks: Vec<CreateTask>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Some(run) = context.who.origin.schedule_run else {
        let why = "no schedule that came due was handed to you: create a task with db.task.create";
        return Err(ToolFault::new(ErrorKind::Forbidden, why));
    };
    let Arguments { tasks } = read(arguments)?;
    if tasks.len() > MAX_TASKS {
        return Err(ToolFault::invalid(format!("at most {MAX_TASKS} tasks are made at once")));
    }
    let project = context.setting.project.map(|project| project.to_string());
    let of = |task| CreateTask { project: project.clone(), idempotency_key: None, ..task };
    let tasks = tasks.into_iter().map(of).collect();
    let caller = &context.who.caller;
    let made = context.services.tasks.create_all_for_schedule(caller, run, tasks).await?;
    Ok(json!({ "items": made }))
}
