//! `node.list`

use cynode_domain::policy::ToolScope;
use serde_json::{Value, json};

use crate::tools::schema::{object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, show};

/// Every worker node.
pub(crate) const TOOL: Builtin = Builtin {
    name: "node.list",
    title: "List worker nodes",
    description: "Every worker node with its capabilities, load and last sign of life.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&[], json!({}))
}

fn output() -> Value {
    result(&["items"])
}

async fn run(context: ToolContext, _arguments: Value) -> Result<Value, ToolFault> {
    Ok(json!({ "items": show(context.services.nodes.list().await?)? }))
}
