//! `node.get`

use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// One worker node.
pub(crate) const TOOL: Builtin = Builtin {
    name: "node.get",
    title: "Get a worker node",
    description: "A worker node, by its slug.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["node_slug"], json!({ "node_slug": text("The name of the node.", 200) }))
}

fn output() -> Value {
    result(&["id", "node_slug", "status"])
}

#[derive(Deserialize)]
struct Arguments {
    node_slug: String,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { node_slug } = read(arguments)?;
    show(context.services.nodes.get(&node_slug).await?)
}
