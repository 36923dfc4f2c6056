//! `skills.update`

use cynode_domain::ids::{GroupId, SkillId};
use cynode_domain::policy::ToolScope;
use cynode_domain::skill::SkillScope;
use cynode_wire::skills::UpdateSkill;
use serde::Deserialize;
use serde_json::{Value, json};

use super::find;
use crate::tools::schema::{id, object, result, text};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Another text.
pub(crate) const TOOL: Builtin = Builtin {
    name: "skills.update",
    title: "Change a skill",
    description: "Changes the text, name or readers of a skill of the user; the text is scanned again.",
    scope: ToolScope::Pm,
    effect: ToolEffect::Changes,
    input,
    output,
    run: |context, arguments| Box::pin(run(context, arguments)),
};

fn input() -> Value {
    object(
        &["skill_id"],
        json!({
            "task_id": id("task"),
            "project_id": id("project"),
            "group_id": id("group"),
            "skill_id": id("skill"),
            "content": { "type": "string", "minLength": 1, "maxLength": 65_536, "description": "Another text." },
            "name": text("Another name.", 100),
            "scope": { "enum": ["user", "group", "project", "global"], "description": "Other readers." },
        }),
    )
}

fn output() -> Value {
    result(&["id", "name", "scope", "version"])
}

#[derive(Deserialize)]
struct Arguments {
    skill_id: SkillId,
    content: Option<String>,
    name: Option<String>,
    scope: Option<SkillScope>,
    group_id: Option<GroupId>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { skill_id, content, name, scope, group_id } = read(arguments)?;
    find(&context, skill_id).await?;
    // Only who opens it to a project means the project of the call.
    let project_id = context.setting.project.filter(|_| scope == Some(SkillScope::Project));
    let request = UpdateSkill { content, name, scope, project_id, group_id };
    show(context.services.skills.update(&context.who.caller, skill_id, request).await?)
}
