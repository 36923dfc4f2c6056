//! `db.preference.update`

use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::Value;

use super::preference_scope::{Scoped, Written, may_change, members};
use crate::tools::schema::{object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Another value.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.preference.update",
    title: "Change a preference",
    description: "Gives a preference another value; with expected_version only if nobody changed it meanwhile. Null hides what weaker scopes say.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["scope_type", "key", "value", "value_type"],
        members(&["key", "value", "value_type", "expected_version", "reason"]),
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
    show(context.services.preferences.update(caller, wanted, written.into()).await?)
}
