//! `db.message.list`

use cynode_domain::agent::MessageKind;
use cynode_domain::policy::ToolScope;
use cynode_wire::apmas::MessageQuery;
use serde_json::{Value, json};

use crate::tools::schema::{cursor, id, limit, object, result, text, words};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show, without_ids};

/// What agents and the project manager said.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.message.list",
    title: "List messages",
    description: "Messages between agents and the project manager, newest first: of one task, or of all tasks of the user. Whoever works through them asks for unprocessed ones, oldest first.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &[],
        json!({
            "task_id": id("task"),
            "project_id": id("project"),
            "role": text("From or to this role.", 64),
            "kind": words(MessageKind::ALL.iter().map(|word| word.as_str())),
            "unprocessed": { "type": "boolean", "description": "Only what waits for the project manager." },
            "waiting_for_person": { "type": "boolean", "description": "Only what waits for a person, on open tasks." },
            "oldest_first": { "type": "boolean" },
            "limit": limit(),
            "cursor": cursor(),
        }),
    )
}

fn output() -> Value {
    result(&["items"])
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let query: MessageQuery = read(without_ids(arguments))?;
    // The context stage has judged the ids; a bound caller sees its own task and project only.
    let within = (context.setting.project, context.setting.task);
    show(context.services.messages.list(&context.who.caller, within, query).await?)
}
