//! `db.task.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::tasks::TaskQuery;
use cynode_wire::tool_calls::{DbTaskList, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbTaskList::NAME,
    title: "List tasks",
    description: "Tasks of the user, newest first; limited to the project or task that the caller is bound to.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbTaskList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: DbTaskList) -> Result<Value, ToolFault> {
    let DbTaskList { status, page, .. } = arguments;
    if let Some(task) = context.identity.task {
        // A token of one task must not learn the names of others.
        let own = context.services.tasks.get(&context.identity.caller, &task.into()).await?;
        let is_wanted = status.is_none_or(|status| status == own.status);
        let items = if is_wanted { vec![to_json(own)?] } else { vec![] };
        return Ok(json!({ "items": items }));
    }
    // The context stage has checked project_id; a bound caller sees its own project only.
    let project = context.call_scope.project.map(|project| project.to_string());
    let query = TaskQuery { limit: page.limit, cursor: page.cursor, status, project };
    let profiles = context.listed_profiles();
    to_json(context.services.tasks.list_in(&context.identity.caller, query, profiles).await?)
}
