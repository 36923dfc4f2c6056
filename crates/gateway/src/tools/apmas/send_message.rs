//! `apmas_send_message`

use cynode_domain::agent::NoteKind;
use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::SendMessage;
use serde_json::{Value, json};

use crate::tools::schema::{id, key, object, result, role, text, words};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// A plain message.
pub(crate) const TOOL: Builtin = Builtin {
    name: "apmas_send_message",
    title: "Write to the project manager",
    description: "Sends a message to the project manager, and to nobody else: agents do not speak to each other.",
    scope: ToolScope::Sandbox,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "agentRole", "to", "type", "content"],
        json!({
            "task_id": id("task"),
            "agentRole": role(),
            "to": text("pm", 64),
            "type": words(NoteKind::ALL.iter().map(|word| word.as_str())),
            "content": text("The message.", 16384),
            "idempotencyKey": key(),
        }),
    )
}

fn output() -> Value {
    result(&["message_id", "repeated", "agent_status", "instructions"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let request: SendMessage = read(arguments)?;
    show(context.services.messages.send(&context.who, request).await?)
}
