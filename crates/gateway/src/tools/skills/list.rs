//! `skills.list`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{SkillsList, ToolCall as _};
use serde_json::Value;

use super::is_in_bound_project;
use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolEffect;
use crate::tools::ToolFault;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: SkillsList::NAME,
    title: "List skills",
    description: "Skills that the user can read, newest first, without their texts.",
    scope: ToolScope::Both,
    effect: ToolEffect::Looks,
    input: SkillsList::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["items"])
}

async fn run(context: ToolContext, arguments: SkillsList) -> Result<Value, ToolFault> {
    let mut page = context.services.skills.list(&context.identity.caller, &arguments.query).await?;
    page.items.retain(|skill| is_in_bound_project(&context, skill));
    for skill in &mut page.items {
        // An agent learns that a skill is in quarantine, and not the passage.
        skill.quarantine = skill.quarantine.take().map(|_| vec![]);
    }
    to_json(page)
}
