//! `db.system_setting.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::page::PageQuery;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{cursor, limit, object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Settings.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.system_setting.list",
    title: "List settings",
    description: "Settings of the installation whose name begins with key_prefix, by name.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &[],
        json!({ "key_prefix": text("How names begin.", 200), "limit": limit(), "cursor": cursor() }),
    )
}

fn output() -> Value {
    result(&["items"])
}

#[derive(Deserialize)]
struct Arguments {
    key_prefix: Option<String>,
    limit: Option<u32>,
    cursor: Option<String>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { key_prefix, limit, cursor } = read(arguments)?;
    let prefix = key_prefix.unwrap_or_default();
    show(context.services.settings.list(&prefix, &PageQuery { limit, cursor }).await?)
}
