//! `apmas_request_help`

use cynode_domain::agent::HelpKind;
use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::RequestHelp;
use serde_json::{Value, json};

use crate::tools::schema::{id, key, object, result, role, text, words};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// A cry for help.
pub(crate) const TOOL: Builtin = Builtin {
    name: "apmas_request_help",
    title: "Ask for help",
    description: "Asks the project manager for help: of a person (the agent then waits), of another agent (targetAgent; the project manager passes it on), for a clarification, or for a decision of its own.",
    scope: ToolScope::Both,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "agentRole", "helpType", "issue"],
        json!({
            "task_id": id("task"),
            "agentRole": role(),
            "helpType": words(HelpKind::ALL.iter().map(|word| word.as_str())),
            "issue": text("What the matter is.", 16384),
            "targetAgent": role(),
            "context": text("What one must know to help.", 16384),
            "idempotencyKey": key(),
        }),
    )
}

fn output() -> Value {
    result(&["message_id", "repeated", "agent_status", "instructions"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let request: RequestHelp = read(arguments)?;
    show(context.services.messages.help(&context.who, request).await?)
}
