//! `db.system_setting.get`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbSystemSettingGet, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbSystemSettingGet::NAME,
    title: "Get a setting",
    description: "A setting of the installation.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbSystemSettingGet::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["key", "value", "value_type", "version"])
}

async fn run(context: ToolContext, arguments: DbSystemSettingGet) -> Result<Value, ToolFault> {
    let DbSystemSettingGet { key } = arguments;
    to_json(context.services.settings.get(&key).await?)
}
