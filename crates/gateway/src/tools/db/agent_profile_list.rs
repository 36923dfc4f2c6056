//! `db.agent_profile.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbAgentProfileList, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbAgentProfileList::NAME,
    title: "List agent profiles",
    description: "The agent profiles that a task of input_mode agent can name, with the worker nodes that passed the canary run of each.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbAgentProfileList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, _arguments: DbAgentProfileList) -> Result<Value, ToolFault> {
    Ok(json!({ "items": to_json(context.services.agent_profiles.list().await?)? }))
}
