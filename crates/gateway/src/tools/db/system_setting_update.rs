//! `db.system_setting.update`

use cynode_domain::policy::ToolScope;
use cynode_wire::settings::SetSetting;
use serde_json::Value;

use super::setting_write::{Written, write_schema};
use crate::tools::schema::result;
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Another value.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.system_setting.update",
    title: "Change a setting",
    description: "Gives a setting another value; with expected_version only if nobody changed it meanwhile. Administrators only.",
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
    // What does not exist is created, not updated.
    let settings = &context.services.settings;
    let found = settings.get(&written.key).await?;
    let expected_version = Some(written.expected_version.unwrap_or(found.version));
    let request = SetSetting { value: written.value, expected_version, reason: written.reason };
    show(settings.set(&context.who.caller, &written.key, request).await?)
}
