//! `db.preference.get`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbPreferenceGet, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbPreferenceGet::NAME,
    title: "Get a preference",
    description: "A preference of one scope, as stored. For the effective value, use db.preference.effective.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbPreferenceGet::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["scope_type", "key", "value", "value_type", "version"])
}

async fn run(context: ToolContext, arguments: DbPreferenceGet) -> Result<Value, ToolFault> {
    to_json(context.services.preferences.get(&context.identity.caller, arguments.preference).await?)
}
