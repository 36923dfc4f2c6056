//! `apmas_report_status`

use cynode_domain::agent::Progress;
use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::ReportStatus;
use serde_json::{Value, json};

use crate::tools::schema::{id, key, lines, object, result, role, text, unit, words};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// How it is going.
pub(crate) const TOOL: Builtin = Builtin {
    name: "apmas_report_status",
    title: "Say how it is going",
    description: "Tells the project manager how it is going. blocked needs blockedReason and waits for help; context_limit pauses until a successor goes on; done ends the agent. With workUnitId, working begins that unit and blocked blocks it.",
    scope: ToolScope::Sandbox,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "agentRole", "status", "message"],
        json!({
            "task_id": id("task"),
            "agentRole": role(),
            "status": words(Progress::ALL.iter().map(|word| word.as_str())),
            "message": text("The same in words.", 16384),
            "artifacts": lines("Files worth looking at."),
            "blockedReason": text("Why it cannot go on.", 16384),
            "workUnitId": unit(),
            "idempotencyKey": key(),
        }),
    )
}

fn output() -> Value {
    result(&["message_id", "repeated", "agent_status", "instructions"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let request: ReportStatus = read(arguments)?;
    show(context.services.messages.status(&context.who, request).await?)
}
