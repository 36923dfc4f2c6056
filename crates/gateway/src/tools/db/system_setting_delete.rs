//! `db.system_setting.delete`

use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read};

/// No more setting.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.system_setting.delete",
    title: "Delete a setting",
    description: "Removes a setting; with expected_version only if nobody changed it meanwhile. Administrators only.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["key"],
        json!({ "key": text("The name of the setting.", 200), "expected_version": { "type": "integer" } }),
    )
}

fn output() -> Value {
    result(&["key", "deleted"])
}

#[derive(Deserialize)]
struct Arguments {
    key: String,
    expected_version: Option<i64>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { key, expected_version } = read(arguments)?;
    context.services.settings.remove(&context.who.caller, &key, expected_version).await?;
    Ok(json!({ "key": key, "deleted": true }))
}
