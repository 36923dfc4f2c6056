//! `db.schedule.create`

use cynode_domain::policy::{ErrorKind, ToolScope};
use cynode_wire::schedules::CreateSchedule;
use cynode_wire::tool_calls::{DbScheduleCreate, ToolCall as _};
use serde_json::Value;

use super::schedule_scope::{check_project_repository, is_limited_to_task};
use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbScheduleCreate::NAME,
    title: "Create a schedule",
    description: "Schedules work: by a cron expression, at a fixed interval, or once. The project manager interprets a prompt when it is due; a task with commands or a script is created as given.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbScheduleCreate::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "name", "state"])
}

async fn run(context: ToolContext, arguments: DbScheduleCreate) -> Result<Value, ToolFault> {
    if is_limited_to_task(&context) {
        let why = "an agent that works on one task cannot create schedules";
        return Err(ToolFault::new(ErrorKind::Forbidden, why));
    }
    // The context stage has checked project_id; a bound caller schedules in its own project.
    let project = context.call_scope.project.map(|project| project.to_string());
    let mut request = CreateSchedule { project, ..arguments.schedule };
    if let Some(task) = &mut request.task {
        check_project_repository(&context, task)?;
        task.profile = context.profile_for_work(task.profile.take()).await?;
    }
    to_json(context.services.schedules.create(&context.identity.caller, request).await?)
}
