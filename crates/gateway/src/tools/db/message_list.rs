//! `db.message.list`

use cynode_domain::policy::ToolScope;
use cynode_execution::tasks::ListedProfiles;
use cynode_wire::tool_calls::{DbMessageList, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbMessageList::NAME,
    title: "List messages",
    description: "Messages between agents and the project manager, newest first: of one task, or of all tasks of the user. To process them, list unprocessed ones, oldest first.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbMessageList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: DbMessageList) -> Result<Value, ToolFault> {
    // The context stage has checked the ids; a bound caller sees its own task and project only.
    let (project, task) = (context.call_scope.project, context.call_scope.task);
    let profiles = match task {
        // The context stage has checked its profile too.
        Some(_) => ListedProfiles::All,
        None => context.listed_profiles(),
    };
    let (messages, caller) = (&context.services.messages, &context.identity.caller);
    to_json(messages.list(caller, project, task, profiles, arguments.query).await?)
}
