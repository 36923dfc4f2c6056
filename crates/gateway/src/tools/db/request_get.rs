//! `db.request.get`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbRequestGet, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbRequestGet::NAME,
    title: "Show a request",
    description: "One request: its phase, decisions with their reasons, units, open question, cost and delivery.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbRequestGet::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "name", "status", "phase"])
}

async fn run(context: ToolContext, arguments: DbRequestGet) -> Result<Value, ToolFault> {
    let request = arguments.task_id.into();
    to_json(context.requests()?.get(&context.identity.caller, &request).await?)
}
