//! `skills.update`

use cynode_domain::policy::ToolScope;
use cynode_domain::skill::SkillScope;
use cynode_wire::skills::UpdateSkill;
use cynode_wire::tool_calls::{SkillsUpdate, ToolCall as _};
use serde_json::Value;

use super::load_visible_skill;
use crate::tools::BuiltinToolSpec;
use crate::tools::ToolContext;
use crate::tools::ToolFault;
use crate::tools::ToolSideEffect;
use crate::tools::dispatch;
use crate::tools::schema::result_schema;
use crate::tools::to_json;

pub(crate) const TOOL: BuiltinToolSpec = BuiltinToolSpec {
    name: SkillsUpdate::NAME,
    title: "Change a skill",
    description: "Changes the text, name or scope of a skill of the user; the text is scanned again.",
    scope: ToolScope::Pm,
    side_effect: ToolSideEffect::Mutating,
    input: SkillsUpdate::input_schema,
    output,
    run: |context, arguments| dispatch(run, context, arguments),
};

fn output() -> Value {
    result_schema(&["id", "name", "scope", "version"])
}

async fn run(context: ToolContext, arguments: SkillsUpdate) -> Result<Value, ToolFault> {
    let SkillsUpdate { skill_id, update, .. } = arguments;
    load_visible_skill(&context, skill_id).await?;
    // The project of the call matters only if the new scope is a project.
    let project_id =
        context.call_scope.project.filter(|_| update.scope == Some(SkillScope::Project));
    let request = UpdateSkill { project_id, ..update };
    to_json(context.services.skills.update(&context.identity.caller, skill_id, request).await?)
}
