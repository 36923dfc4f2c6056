//! `db.system_setting.update`

use cynode_domain::policy::ToolScope;
use cynode_wire::settings::SetSetting;
use cynode_wire::tool_calls::{DbSystemSettingUpdate, ToolCall as _};
use serde_json::Value;

use super::setting_write::check_value_type;
use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbSystemSettingUpdate::NAME,
    title: "Change a setting",
    description: "Changes the value of a setting; with expected_version only if it has not changed since. Administrators only.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbSystemSettingUpdate::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["key", "value", "value_type", "version"])
}

async fn run(context: ToolContext, arguments: DbSystemSettingUpdate) -> Result<Value, ToolFault> {
    let DbSystemSettingUpdate(written) = arguments;
    check_value_type(&written)?;
    // A missing setting is created, not updated.
    let settings = &context.services.settings;
    let found = settings.get(&written.key).await?;
    let expected_version = Some(written.expected_version.unwrap_or(found.version));
    let request = SetSetting { value: written.value, expected_version, reason: written.reason };
    to_json(settings.set(&context.identity.caller, &written.key, request).await?)
}
