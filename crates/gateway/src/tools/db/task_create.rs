//! `db.task.create`

use cynode_domain::policy::{ErrorKind, Principal, ToolScope};
use cynode_domain::start::Trigger;
use cynode_wire::tool_calls::{DbTaskCreate, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbTaskCreate::NAME,
    title: "Create a task",
    description: "Creates a task and starts its workflow: at once, or when everything it depends on has completed. A task of input_mode commands or script runs in a sandbox; one of input_mode prompt is planned first.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbTaskCreate::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "task_name", "status"])
}

async fn run(context: ToolContext, arguments: DbTaskCreate) -> Result<Value, ToolFault> {
    // The context stage has checked project_id; a bound caller creates in its own project.
    let project_id = context.call_scope.project;
    let profile = context.profile_for_work(arguments.profile.clone()).await?;
    let request = DbTaskCreate { project_id, profile, ..arguments }.into();
    if context.identity.origin.schedule_run.is_some() {
        // Creating them one by one could stop half way, and a retry could create other tasks.
        let why = "the tasks of a due schedule are created together; call db.schedule.make_tasks";
        return Err(ToolFault::new(ErrorKind::Conflict, why));
    }
    // A person's own client counts as the API; an agent acts for the person in its chat.
    let trigger = match context.identity.agent {
        Principal::User => Trigger::Api,
        Principal::Agent(_) => Trigger::Chat,
    };
    to_json(
        context
            .services
            .tasks
            .create_with_trigger(&context.identity.caller, trigger, request)
            .await?,
    )
}
