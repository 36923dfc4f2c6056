//! `db.system_setting.create`

use cynode_domain::policy::ToolScope;
use cynode_wire::settings::SetSetting;
use cynode_wire::tool_calls::{DbSystemSettingCreate, ToolCall as _};
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
    name: DbSystemSettingCreate::NAME,
    title: "Create a setting",
    description: "Creates a setting that does not exist yet. Administrators only.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: DbSystemSettingCreate::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["key", "value", "value_type", "version"])
}

async fn run(context: ToolContext, arguments: DbSystemSettingCreate) -> Result<Value, ToolFault> {
    let DbSystemSettingCreate(written) = arguments;
    check_value_type(&written)?;
    let request =
        SetSetting { value: written.value, expected_version: Some(0), reason: written.reason };
    to_json(context.services.settings.set(&context.identity.caller, &written.key, request).await?)
}
