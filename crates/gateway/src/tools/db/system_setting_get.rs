//! `db.system_setting.get`

use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// One setting.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.system_setting.get",
    title: "Get a setting",
    description: "A setting of the installation.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["key"], json!({ "key": text("The name of the setting.", 200) }))
}

fn output() -> Value {
    result(&["key", "value", "value_type", "version"])
}

#[derive(Deserialize)]
struct Arguments {
    key: String,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { key } = read(arguments)?;
    show(context.services.settings.get(&key).await?)
}
