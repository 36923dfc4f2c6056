//! `db.system_setting.delete`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbSystemSettingDelete, ToolCall as _};
use serde_json::{Value, json};

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbSystemSettingDelete::NAME,
    title: "Delete a setting",
    description: "Removes a setting; with expected_version only if it has not changed since. Administrators only.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbSystemSettingDelete::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["key", "deleted"])
}

async fn run(context: ToolContext, arguments: DbSystemSettingDelete) -> Result<Value, ToolFault> {
    let DbSystemSettingDelete { key, expected_version } = arguments;
    context.services.settings.remove(&context.identity.caller, &key, expected_version).await?;
    Ok(json!({ "key": key, "deleted": true }))
}
