//! `db.preference.update`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbPreferenceUpdate, ToolCall as _};
use serde_json::Value;

use super::preference_scope::check_may_change;
use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbPreferenceUpdate::NAME,
    title: "Change a preference",
    description: "Changes the value of a preference; with expected_version only if it has not changed since. Null hides the values of weaker scopes.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbPreferenceUpdate::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["scope_type", "key", "value", "value_type", "version"])
}

async fn run(context: ToolContext, arguments: DbPreferenceUpdate) -> Result<Value, ToolFault> {
    let DbPreferenceUpdate { preference, write } = arguments;
    check_may_change(&context, &preference.key)?;
    to_json(context.services.preferences.update(&context.identity.caller, preference, write).await?)
}
