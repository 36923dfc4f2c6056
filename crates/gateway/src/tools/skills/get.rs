//! `skills.get`

use cynode_domain::ids::SkillId;
use cynode_domain::policy::ToolScope;
use serde::Deserialize;
use serde_json::{Value, json};

use super::find;
use crate::tools::schema::{id, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// One skill.
pub(crate) const TOOL: Builtin = Builtin {
    name: "skills.get",
    title: "Read a skill",
    description: "A skill with its text.",
    scope: ToolScope::Both,
    effect: ToolEffect::Looks,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(&["skill_id"], json!({ "task_id": id("task"), "skill_id": id("skill") }))
}

fn output() -> Value {
    result(&["id", "name", "scope", "content"])
}

#[derive(Deserialize)]
struct Arguments {
    skill_id: SkillId,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { skill_id } = read(arguments)?;
    show(find(&context, skill_id).await?)
}
