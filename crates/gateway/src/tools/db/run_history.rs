//! `db.run.history`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbRunHistory, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbRunHistory::NAME,
    title: "Get the history of a run",
    description: "Every transition of a run with its state changes, and the interventions of people in between; oldest first.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbRunHistory::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: DbRunHistory) -> Result<Value, ToolFault> {
    let DbRunHistory { run_id, page, .. } = arguments;
    let run = run_id.into();
    to_json(context.services.runs.history(&context.identity.caller, &run, &page).await?)
}
