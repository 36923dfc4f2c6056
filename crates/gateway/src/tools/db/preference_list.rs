//! `db.preference.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbPreferenceList, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbPreferenceList::NAME,
    title: "List preferences",
    description: "Preferences of one scope whose key begins with key_prefix, by key.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbPreferenceList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: DbPreferenceList) -> Result<Value, ToolFault> {
    let DbPreferenceList { scope_type, scope_id, key_prefix, page } = arguments;
    let prefix = key_prefix.unwrap_or_default();
    let (preferences, caller) = (&context.services.preferences, &context.identity.caller);
    to_json(preferences.list(caller, scope_type, scope_id, &prefix, &page).await?)
}
