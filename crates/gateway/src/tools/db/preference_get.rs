//! `db.preference.get`

use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::Value;

use super::preference_scope::{Scoped, members};
use crate::tools::schema::{object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// One preference.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.preference.get",
    title: "Get a preference",
    description: "A preference of one scope, as it is written. For what holds in the end, use db.preference.effective.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["scope_type", "key"], members(&["key"]))
}

fn output() -> Value {
    result(&["scope_type", "key", "value", "value_type", "version"])
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(flatten)]
    scope: Scoped,
    key: String,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { scope, key } = read(arguments)?;
    let wanted = scope.key(key);
    show(context.services.preferences.get(&context.who.caller, wanted).await?)
}
