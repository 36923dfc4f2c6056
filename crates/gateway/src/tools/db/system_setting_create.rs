//! `db.system_setting.create`

use cynode_domain::policy::ToolScope;
use cynode_wire::settings::SetSetting;
use serde_json::Value;

use super::setting_write::{Written, write_schema};
use crate::tools::schema::result;
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// A new setting.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.system_setting.create",
    title: "Create a setting",
    description: "Makes a setting that does not exist yet. Administrators only.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    write_schema()
}

fn output() -> Value {
    result(&["key", "value", "value_type", "version"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let written: Written = read(arguments)?;
    written.check()?;
    let request =
        SetSetting { value: written.value, expected_version: Some(0), reason: written.reason };
    show(context.services.settings.set(&context.who.caller, &written.key, request).await?)
}
