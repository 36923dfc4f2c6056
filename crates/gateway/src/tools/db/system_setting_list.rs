//! `db.system_setting.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{DbSystemSettingList, ToolCall as _};
use serde_json::Value;

use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: DbSystemSettingList::NAME,
    title: "List settings",
    description: "Settings of the installation whose name begins with key_prefix, by name.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::ReadOnly,
    input: DbSystemSettingList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: DbSystemSettingList) -> Result<Value, ToolFault> {
    let DbSystemSettingList { key_prefix, page } = arguments;
    let prefix = key_prefix.unwrap_or_default();
    to_json(context.services.settings.list(&prefix, &page).await?)
}
