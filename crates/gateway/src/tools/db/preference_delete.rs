//! `db.preference.delete`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbPreferenceDelete, ToolCall as _};
use serde_json::{Value, json};

use super::preference_scope::check_may_change;
use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbPreferenceDelete::NAME,
    title: "Delete a preference",
    description: "Removes a preference, so that the values of weaker scopes apply again. With expected_version only if it has not changed since.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbPreferenceDelete::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["key", "deleted"])
}

async fn run(context: ToolContext, arguments: DbPreferenceDelete) -> Result<Value, ToolFault> {
    let DbPreferenceDelete { preference, removal } = arguments;
    check_may_change(&context, &preference.key)?;
    let key = preference.key.clone();
    context.services.preferences.remove(&context.identity.caller, preference, removal).await?;
    Ok(json!({ "key": key, "deleted": true }))
}
