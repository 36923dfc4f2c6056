//! `db.message.mark_processed`

use cynode_domain::ids::{MessageId, TaskId};
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// The project manager is done with it.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.message.mark_processed",
    title: "Mark a message as processed",
    description: "Says that the project manager is done with a message, which is then no longer listed as unprocessed. Saying so twice changes nothing.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id", "message_id"],
        json!({
            "task_id": id("task"),
            "message_id": id("message"),
        }),
    )
}

fn output() -> Value {
    result(&["id", "task_id", "sender", "recipient", "kind", "content"])
}

#[derive(Deserialize)]
struct Arguments {
    task_id: TaskId,
    message_id: MessageId,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { task_id, message_id } = read(arguments)?;
    show(context.services.messages.process(&context.who.caller, task_id, message_id).await?)
}
