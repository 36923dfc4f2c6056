//! `apmas_complete`

use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::CompleteAgent;
use serde_json::{Value, json};

use crate::tools::schema::{id, lines, object, result, role, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// An agent's last words.
pub(crate) const TOOL: Builtin = Builtin {
    name: "apmas_complete",
    title: "Finish",
    description: "Says that the agent is done, with a summary and its files. After this it says nothing more on this task.",
    scope: ToolScope::Sandbox,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "agentRole", "summary", "artifacts"],
        json!({
            "task_id": id("task"),
            "agentRole": role(),
            "summary": text("What was done.", 16384),
            "artifacts": lines("The files that show it."),
            "notes": text("What others should know.", 16384),
        }),
    )
}

fn output() -> Value {
    result(&["message_id", "repeated", "agent_status", "elapsed_seconds"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let request: CompleteAgent = read(arguments)?;
    show(context.services.messages.complete(&context.who, request).await?)
}
