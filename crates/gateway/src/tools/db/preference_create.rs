//! `db.preference.create`

use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::Value;

use super::preference_scope::{Scoped, Written, may_change, members};
use crate::tools::schema::{object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// A new preference.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.preference.create",
    title: "Create a preference",
    description: "Makes a preference that the scope does not have yet. The system's are for administrators.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["scope_type", "key", "value", "value_type"],
        members(&["key", "value", "value_type", "reason"]),
    )
}

fn output() -> Value {
    result(&["scope_type", "key", "value", "value_type", "version"])
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(flatten)]
    scope: Scoped,
    key: String,
    #[serde(flatten)]
    written: Written,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { scope, key, written } = read(arguments)?;
    may_change(&context, &key)?;
    let (wanted, caller) = (scope.key(key), &context.who.caller);
    show(context.services.preferences.create(caller, wanted, written.into()).await?)
}
