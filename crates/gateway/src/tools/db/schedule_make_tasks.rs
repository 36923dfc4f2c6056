//! `db.schedule.make_tasks`

use cynode_domain::policy::{ErrorKind, ToolScope};
use cynode_wire::schedules::MAX_DUE_TASKS;
use cynode_wire::tasks::CreateTask;
use cynode_wire::tool_calls::{DbScheduleMakeTasks, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbScheduleMakeTasks::NAME,
    title: "Create the tasks of a due schedule",
    description: "Creates all tasks of a due schedule in one idempotent call: a repeated call returns the tasks that exist. Only for the handoff of a due schedule.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbScheduleMakeTasks::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: DbScheduleMakeTasks) -> Result<Value, ToolFault> {
    let Some(run) = context.identity.origin.schedule_run else {
        let why = "this call is not for a due schedule; create a task with db.task.create";
        return Err(ToolFault::new(ErrorKind::Forbidden, why));
    };
    let DbScheduleMakeTasks { tasks } = arguments;
    if tasks.len() > MAX_DUE_TASKS {
        return Err(ToolFault::invalid(format!(
            "a due schedule creates at most {MAX_DUE_TASKS} tasks"
        )));
    }
    let project = context.call_scope.project.map(|project| project.to_string());
    let profile = context.profile_for_work(None).await?;
    let of = |task| CreateTask {
        project: project.clone(),
        profile: profile.clone(),
        ..CreateTask::from(task)
    };
    let tasks = tasks.into_iter().map(of).collect();
    let caller = &context.identity.caller;
    let made = context.services.tasks.create_all_for_schedule(caller, run, tasks).await?;
    Ok(json!({ "items": made }))
}
