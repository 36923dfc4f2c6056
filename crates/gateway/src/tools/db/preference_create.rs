//! `db.preference.create`

use cynode_domain::policy::ToolScope;
use cynode_wire::preferences::WritePreference;
use cynode_wire::tool_calls::{DbPreferenceCreate, ToolCall as _};
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
    name: DbPreferenceCreate::NAME,
    title: "Create a preference",
    description: "Creates a preference that the scope does not have yet. Only administrators may create system preferences.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbPreferenceCreate::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["scope_type", "key", "value", "value_type", "version"])
}

async fn run(context: ToolContext, arguments: DbPreferenceCreate) -> Result<Value, ToolFault> {
    let DbPreferenceCreate { preference, value, value_type, reason } = arguments;
    check_may_change(&context, &preference.key)?;
    let write = WritePreference { value, value_type, expected_version: None, reason };
    to_json(context.services.preferences.create(&context.identity.caller, preference, write).await?)
}
