//! `db.run.answer`

use cynode_domain::ids::RunId;
use cynode_domain::policy::ToolScope;
use cynode_domain::question::Reply;
use cynode_ops::runs::Voice;
use cynode_wire::runs::AnswerRun;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Answers what a run asks.
pub(crate) const TOOL: Builtin = Builtin {
    name: "db.run.answer",
    title: "Answer the question of a run",
    description: "Says what is to be run for a request that nobody could plan, as commands, or declines it. What a person must approve, only a person approves.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    let line = json!({ "type": "string", "maxLength": 65536 });
    let lines = json!({
        "type": "array", "items": line, "maxItems": 200,
        "description": "Command lines to run, one after the other. Leave them away to decline.",
    });
    let comment = json!({ "type": "string", "maxLength": 1000, "description": "Why, in words." });
    object(
        &["run_id"],
        json!({ "run_id": id("run"), "task_id": id("task"), "commands": lines, "comment": comment }),
    )
}

fn output() -> Value {
    result(&["id", "task_id", "state"])
}

#[derive(Deserialize)]
struct Arguments {
    run_id: RunId,
    #[serde(default)]
    commands: Vec<String>,
    comment: Option<String>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { run_id, commands, comment } = read(arguments)?;
    let reply =
        if commands.is_empty() { Reply::No {} } else { Reply::Commands { lines: commands } };
    let (run, body) = (run_id.to_string(), AnswerRun { reply, comment });
    let steering = &context.services.steering;
    show(steering.answer_as(&context.who.caller, &run, body, Voice::Agent).await?)
}
