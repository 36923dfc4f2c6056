//! `apmas_pm_instruct`

use cynode_domain::agent::InstructionKind;
use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::InstructAgent;
use serde_json::{Value, json};

use crate::tools::schema::{id, key, object, result, role, text, words};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// An instruction.
pub(crate) const TOOL: Builtin = Builtin {
    name: "apmas_pm_instruct",
    title: "Instruct an agent",
    description: "Leaves an instruction for the agent in a role of the task, who gets it with the reply to whatever it says next. pause and abort take effect when the agent has heard of them.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "toAgent", "instructionType", "instructions"],
        json!({
            "task_id": id("task"),
            "toAgent": role(),
            "instructionType": words(InstructionKind::ALL.iter().map(|word| word.as_str())),
            "instructions": text("What to do.", 16384),
            "context": { "type": "object", "description": "Details, for programs." },
            "idempotencyKey": key(),
        }),
    )
}

fn output() -> Value {
    result(&["id", "recipient", "type", "created_at"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let request: InstructAgent = read(arguments)?;
    show(context.services.messages.instruct(&context.who.caller, request).await?)
}
