//! `db.preference.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::page::PageQuery;
use serde::Deserialize;
use serde_json::Value;

use super::preference_scope::{Scoped, members};
use crate::tools::schema::{object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// The preferences of a scope.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.preference.list",
    title: "List preferences",
    description: "Preferences of one scope whose key begins with key_prefix, by key.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["scope_type"], members(&["key_prefix", "limit", "cursor"]))
}

fn output() -> Value {
    result(&["items"])
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(flatten)]
    scope: Scoped,
    key_prefix: Option<String>,
    limit: Option<u32>,
    cursor: Option<String>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { scope, key_prefix, limit, cursor } = read(arguments)?;
    let (prefix, page) = (key_prefix.unwrap_or_default(), PageQuery { limit, cursor });
    let wanted = (scope.scope_type, scope.scope_id);
    show(context.services.preferences.list(&context.who.caller, wanted, &prefix, &page).await?)
}
