//! `skills.list`

use cynode_domain::ids::UserId;
use cynode_domain::policy::ToolScope;
use cynode_domain::skill::SkillScope;
use cynode_wire::skills::SkillQuery;
use serde::Deserialize;
use serde_json::{Value, json};

use super::is_within;
use crate::tools::schema::{cursor, id, limit, object, result};
use crate::tools::{Builtin, ToolContext, ToolEffect, ToolFault, read, show};

/// Skills.
pub(crate) const TOOL: Builtin = Builtin {
    name: "skills.list",
    title: "List skills",
    description: "Skills that the user can read, newest first, without their texts.",
    scope: ToolScope::Both,
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
            "scope": { "enum": ["user", "group", "project", "global"], "description": "Only skills of this scope." },
            "owner": id("owner"),
            "limit": limit(),
            "cursor": cursor(),
        }),
    )
}

fn output() -> Value {
    result(&["items"])
}

#[derive(Deserialize)]
struct Arguments {
    scope: Option<SkillScope>,
    owner: Option<UserId>,
    limit: Option<u32>,
    cursor: Option<String>,
}

async fn run(context: ToolContext, arguments: Value) -> Result<Value, ToolFault> {
    let Arguments { scope, owner, limit, cursor } = read(arguments)?;
    let query = SkillQuery { limit, cursor, scope, owner };
    let mut page = context.services.skills.list(&context.who.caller, &query).await?;
    page.items.retain(|skill| is_within(&context, skill));
    show(page)
}
