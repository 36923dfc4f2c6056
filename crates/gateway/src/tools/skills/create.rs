//! `skills.create`

use cynode_domain::ids::GroupId;
use cynode_domain::policy::ToolScope;
use cynode_domain::skill::SkillScope;
use cynode_wire::skills::CreateSkill;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::schema::{id, object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// A new skill.
pub(crate) const TOOL: Builtin = Builtin {
    name: "skills.create",
    title: "Keep a skill",
    description: "Keeps a text that tells agents how to work. It is scanned first: hidden text, orders to drop instructions and requests for secrets are refused with the passage.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["content"],
        json!({
            "task_id": id("task"),
            "project_id": id("project"),
            "group_id": id("group"),
            "content": { "type": "string", "minLength": 1, "maxLength": 65_536, "description": "The text, in Markdown." },
            "name": text("Its name; the first heading when absent.", 100),
            "scope": { "enum": ["user", "group", "project", "global"], "description": "Who can read it; user when absent." },
        }),
    )
}

fn output() -> Value {
    result(&["id", "name", "scope", "version"])
}

#[derive(Deserialize)]
struct Arguments {
    content: String,
    name: Option<String>,
    scope: Option<SkillScope>,
    group_id: Option<GroupId>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { content, name, scope, group_id } = read(arguments)?;
    // The context stage has judged project_id, or knows the project of the task.
    let project_id = context.setting.project;
    let request = CreateSkill { content, name, scope, project_id, group_id };
    show(context.services.skills.create(&context.who.caller, request).await?)
}
