//! `apmas_checkpoint`

use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::SaveAgentCheckpoint;
use serde_json::{Value, json};

use crate::tools::schema::{id, lines, object, result, role, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// How far the agent came.
pub(crate) const TOOL: Builtin = Builtin {
    name: "apmas_checkpoint",
    title: "Save how far the work is",
    description: "Saves what is done and what is left, so that a successor can go on from there. Save after every piece of work.",
    scope: ToolScope::Sandbox,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "agentRole", "summary", "completedItems", "pendingItems"],
        json!({
            "task_id": id("task"),
            "agentRole": role(),
            "summary": text("How far it came.", 16384),
            "completedItems": lines("What is done."),
            "pendingItems": lines("What is left."),
            "activeFiles": lines("The files it works on."),
            "notes": text("What a successor should know.", 16384),
        }),
    )
}

fn output() -> Value {
    result(&["checkpoint_id", "progress", "repeated", "instructions"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let request: SaveAgentCheckpoint = read(arguments)?;
    show(context.services.messages.checkpoint(&context.who, request).await?)
}
