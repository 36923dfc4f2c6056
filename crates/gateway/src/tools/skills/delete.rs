//! `skills.delete`

use cynode_domain::policy::ToolScope;
use cynode_wire::tool_calls::{SkillsDelete, ToolCall as _};
use serde_json::{Value, json};

use super::load_visible_skill;
use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: SkillsDelete::NAME,
    title: "Delete a skill",
    description: "Removes a skill of the user.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: SkillsDelete::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["skill_id", "deleted"])
}

async fn run(context: ToolContext, arguments: SkillsDelete) -> Result<Value, ToolFault> {
    let SkillsDelete { skill_id, .. } = arguments;
    load_visible_skill(&context, skill_id).await?;
    context.services.skills.remove(&context.identity.caller, skill_id).await?;
    Ok(json!({ "skill_id": skill_id, "deleted": true }))
}
