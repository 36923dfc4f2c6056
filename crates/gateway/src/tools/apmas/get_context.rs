//! `apmas_get_context`

use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::GetContext;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result, role, words};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// What an agent should know.
pub(crate) const TOOL: Builtin = Builtin {
    name: "apmas_get_context",
    title: "Read the context",
    description: "What there is to know about the task: the task itself, who works on it, messages, files, work units, the last checkpoint. An agent names its agentRole, gets its own messages and units, and every instruction it has not acknowledged.",
    scope: ToolScope::Both,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["task_id"],
        json!({
            "task_id": id("task"),
            "agentRole": role(),
            "include": { "type": "array", "uniqueItems": true, "items": words(["project", "agents", "messages", "artifacts", "work"]), "description": "Which parts; all when absent." },
            "agentRoles": { "type": "array", "maxItems": 50, "items": role(), "description": "Only these agents." },
            "messageLimit": { "type": "integer", "minimum": 1, "maximum": 50, "description": "How many messages; 50 when absent." },
        }),
    )
}

fn output() -> Value {
    result(&["instructions", "truncated"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let request: GetContext = read(arguments)?;
    show(context.services.messages.context(&context.who, request).await?)
}
