//! `skills.delete`

use cynode_domain::ids::SkillId;
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use super::find;
use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read};

/// No more skill.
pub(crate) const TOOL: Builtin = Builtin {
    name: "skills.delete",
    title: "Delete a skill",
    description: "Removes a skill of the user.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["skill_id"], json!({ "task_id": id("task"), "skill_id": id("skill") }))
}

fn output() -> Value {
    result(&["skill_id", "deleted"])
}

#[derive(Deserialize)]
struct Arguments {
    skill_id: SkillId,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { skill_id } = read(arguments)?;
    find(&context, skill_id).await?;
    context.services.skills.remove(&context.who.caller, skill_id).await?;
    Ok(json!({ "skill_id": skill_id, "deleted": true }))
}
