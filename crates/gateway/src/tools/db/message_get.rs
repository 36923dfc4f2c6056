//! `db.message.get`

use cynode_domain::ids::{MessageId, TaskId};
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// One message.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.message.get",
    title: "Get a message",
    description: "A message between an agent of a task and the project manager.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
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
    show(context.services.messages.get(&context.who.caller, task_id, message_id).await?)
}
