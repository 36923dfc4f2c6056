//! `db.request.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::requests::RequestQuery;
use cynode_wire::tool_calls::{DbRequestList, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbRequestList::NAME,
    title: "List requests",
    description: "Requests of the user, newest first, each with its phase and its open question; limited to the project that the caller is bound to.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbRequestList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: DbRequestList) -> Result<Value, ToolFault> {
    if context.identity.task.is_some() {
        // A token of one task must not learn the names of others.
        return Ok(json!({ "items": [] }));
    }
    let DbRequestList { open, waiting, page, .. } = arguments;
    // The context stage has checked project_id; a bound caller sees its own project only.
    let project = context.call_scope.project.map(|project| project.to_string());
    let query = RequestQuery {
        limit: page.limit,
        cursor: page.cursor,
        project,
        open,
        waiting,
        // What is shared with the user reaches no agent.
        mine: true,
        ..RequestQuery::default()
    };
    let profiles = context.listed_profiles();
    to_json(context.requests()?.list_in(&context.identity.caller, query, profiles).await?)
}
