//! `git.push`

use cynode_domain::policy::ToolScope;
use cynode_wire::git::PushTask;
use cynode_wire::tool_calls::{GitPush, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: GitPush::NAME,
    title: "Request a push of a task's changes",
    description: "Requests that the newest changes of a task are pushed to a branch of its repository. Creates a task that waits until a person approves the push; a worker node executes it then. Fails if the changes have findings that forbid it. Never pushes to the default branch.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: GitPush::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "task_name", "status"])
}

async fn run(context: ToolContext, arguments: GitPush) -> Result<Value, ToolFault> {
    let GitPush { task_id, branch } = arguments;
    let request = PushTask { branch, approve_plan: true, ..PushTask::default() };
    let (services, caller) = (&context.services, &context.identity.caller);
    let task = services.tasks.push(&services.artifacts, caller, &task_id.into(), request).await?;
    to_json(task)
}
