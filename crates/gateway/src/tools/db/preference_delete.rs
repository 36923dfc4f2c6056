//! `db.preference.delete`

use cynode_domain::policy::ToolScope;
use cynode_wire::preferences::RemovePreference;
use serde::Deserialize;
use serde_json::{Value, json};

use super::preference_scope::{Scoped, may_change, members};
use crate::tools::schema::{object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read};

/// No more preference.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.preference.delete",
    title: "Delete a preference",
    description: "Removes a preference: what weaker scopes say shows again. With expected_version only if nobody changed it meanwhile.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["scope_type", "key"], members(&["key", "expected_version", "reason"]))
}

fn output() -> Value {
    result(&["key", "deleted"])
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(flatten)]
    scope: Scoped,
    key: String,
    expected_version: Option<i64>,
    reason: Option<String>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { scope, key, expected_version, reason } = read(arguments)?;
    may_change(&context, &key)?;
    let removed = RemovePreference { expected_version, reason };
    let wanted = scope.key(key.clone());
    context.services.preferences.remove(&context.who.caller, wanted, removed).await?;
    Ok(json!({ "key": key, "deleted": true }))
}
