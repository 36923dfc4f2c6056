//! `apmas_heartbeat`

use cynode_domain::agent::Activity;
use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::Heartbeat;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result, role, text, words};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// A sign of life.
pub(crate) const TOOL: Builtin = Builtin {
    name: "apmas_heartbeat",
    title: "Give a sign of life",
    description: "Says that the agent lives and what it does; every five minutes is right. The reply carries instructions of the project manager that were not told before: follow them, and name them in acknowledge next time.",
    scope: ToolScope::Both,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "agentRole", "status"],
        json!({
            "task_id": id("task"),
            "agentRole": role(),
            "status": words(Activity::ALL.iter().map(|word| word.as_str())),
            "progress": text("How far it came.", 1024),
            "estimatedContextUsage": { "type": "integer", "minimum": 0, "description": "How much of its context is used." },
            "acknowledge": { "type": "array", "items": id("instruction"), "maxItems": 200, "description": "Instructions that the agent has read." },
        }),
    )
}

fn output() -> Value {
    result(&["agent_status", "deadline", "instructions"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let request: Heartbeat = read(arguments)?;
    show(context.services.messages.heartbeat(&context.who, request).await?)
}
